"""Figures of THESIS that ours are printed beside: Tables 4.3, 5.7, 5.10 and 5.11.

A point is the effective size of a model and its log-likelihood per row of the data learnt from and
of other rows. The thesis does not say so, but its logarithms are binary: the logical relations of
Table 4.3 have -4 and -7, and for Abalone the network of the same size, 190, is found with the same
likelihood in bits. Here they are turned into nats.
"""

from math import log
from typing import NamedTuple


class Point(NamedTuple):
    """A model in the plane of size and likelihood, in bits."""

    size: float
    train: float
    test: float

    @property
    def train_nats(self) -> float:
        """Log-likelihood per row of the data learnt from, natural logarithm."""
        return self.train * log(2)

    @property
    def test_nats(self) -> float:
        """Log-likelihood per row of other data, natural logarithm."""
        return self.test * log(2)


LANGUAGES: dict[str, dict[str, tuple[Point, Point, Point]]] = {
    "Page-blocks": {
        "BN": (
            Point(13875, -13.239, -13.362),
            Point(4875, -13.788, -13.924),
            Point(35250, -13.228, -13.373),
        ),
        "PDG": (
            Point(11925, -11.806, -11.998),
            Point(745, -14.686, -14.782),
            Point(4660, -12.395, -12.582),
        ),
        "NB": (
            Point(6490, -12.331, -12.916),
            Point(825, -14.801, -14.726),
            Point(3355, -12.944, -13.575),
        ),
    },
    "Letter Recognition": {
        "BN": (
            Point(141675, -23.477, -23.872),
            Point(30895, -25.971, -25.945),
            Point(141675, -23.477, -23.872),
        ),
        "PDG": (
            Point(14138, -24.607, -28.046),
            Point(5596, -27.434, -28.643),
            Point(48888, -20.899, -28.956),
        ),
        "NB": (
            Point(20640, -23.856, -24.655),
            Point(9116, -26.005, -26.260),
            Point(36550, -22.04, -24.966),
        ),
    },
    "Landsat": {
        "BN": (
            Point(5451000, -35.509, -36.000),
            Point(678875, -36.210, -36.535),
            Point(5451000, -35.509, -36.000),
        ),
        "PDG": (
            Point(7418, -44.524, -50.465),
            Point(5151, -47.504, -51.688),
            Point(24098, -37.595, -52.936),
        ),
        "NB": (
            Point(5850, -40.643, -42.417),
            Point(3000, -42.585, -44.065),
            Point(17550, -34.822, -48.708),
        ),
    },
    "Adult": {
        "BN": (
            Point(62270, -15.993, -16.182),
            Point(2286, -16.249, -16.357),
            Point(16586, -16.036, -16.198),
        ),
        "PDG": (
            Point(4208, -16.179, -16.695),
            Point(606, -16.678, -16.796),
            Point(7071, -15.967, -16.871),
        ),
        "NB": (
            Point(19205, -15.676, -17.677),
            Point(1610, -16.731, -18.286),
            Point(13570, -15.784, -17.703),
        ),
    },
    "King, Rook vs. King": {
        "BN": (
            Point(6912, -16.700, -16.880),
            Point(5184, -16.982, -17.096),
            Point(6912, -16.700, -16.881),
        ),
        "PDG": (
            Point(18930, -15.691, -16.783),
            Point(1450, -16.947, -17.112),
            Point(17010, -15.687, -16.841),
        ),
        "NB": (
            Point(32032, -15.370, -17.279),
            Point(2080, -16.981, -19.061),
            Point(15288, -15.794, -17.64),
        ),
    },
    "Abalone": {
        "BN": (
            Point(4575, -10.400, -10.439),
            Point(190, -10.915, -10.851),
            Point(4575, -10.400, -10.446),
        ),
        "PDG": (
            Point(694, -10.467, -10.883),
            Point(694, -10.467, -10.883),
            Point(1416, -10.077, -11.130),
        ),
        "NB": (
            Point(1365, -10.139, -10.463),
            Point(315, -10.591, -10.753),
            Point(200, -10.297, -10.517),
        ),
    },
    "Poisonous Mushroom": {
        "BN": (
            Point(208333, -13.924, -13.883),
            Point(5531, -14.898, -14.771),
            Point(85477, -13.937, -13.931),
        ),
        "PDG": (
            Point(6560, -13.768, -13.95),
            Point(2811, -13.956, -14.038),
            Point(2811, -13.956, -14.038),
        ),
        "NB": (
            Point(28518, -12.955, -14.421),
            Point(1940, -14.655, -20.839),
            Point(7760, -13.107, -19.747),
        ),
    },
}
"""Table 5.7: the models most likely on other rows, best by BIC, and best by AIC."""

Pair = tuple[Point, Point]

HYBRID: dict[str, tuple[Pair, Pair, Pair]] = {
    "Page-blocks": (
        (Point(1000, -14.512, -14.607), Point(675, -14.363, -14.482)),
        (Point(8375, -13.734, -13.771), Point(3935, -13.210, -13.286)),
        (Point(13875, -13.239, -13.362), Point(8045, -12.502, -12.577)),
    ),
    "Abalone": (
        (Point(190, -10.915, -10.851), Point(270, -10.904, -10.837)),
        (Point(2700, -10.445, -10.475), Point(758, -10.362, -10.423)),
        (Point(4575, -10.401, -10.442), Point(1003, -10.346, -10.487)),
    ),
    "Adult": (
        (Point(950, -16.388, -16.473), Point(965, -16.380, -16.468)),
        (Point(18966, -16.016, -16.190), Point(14316, -16.011, -16.290)),
        (Point(62270, -15.993, -16.182), Point(31564, -15.860, -16.440)),
    ),
    "King, Rook vs. King": (
        (Point(120, -18.413, -18.426), Point(124, -18.412, -18.426)),
        (Point(3744, -16.957, -17.092), Point(2906, -16.919, -17.065)),
        (Point(6912, -16.700, -16.880), Point(5782, -16.633, -16.835)),
    ),
    "Landsat": (
        (Point(910, -43.622, -43.705), Point(1210, -43.605, -43.703)),
        (Point(383000, -36.030, -36.419), Point(49583, -35.532, -51.044)),
        (Point(760375, -35.989, -36.304), Point(64796, -35.836, -55.776)),
    ),
    "Letter Recognition": (
        (Point(3119, -28.759, -28.609), Point(2683, -28.372, -28.275)),
        (Point(74075, -24.037, -24.311), Point(19660, -23.886, -24.809)),
        (Point(141675, -23.477, -23.872), Point(62494, -23.317, -25.254)),
    ),
    "Poisonous Mushroom": (
        (Point(121, -32.332, -32.283), Point(123, -32.332, -32.283)),
        (Point(114741, -14.281, -14.194), Point(2212, -13.747, -13.772)),
        (Point(208333, -13.924, -13.883), Point(2010, -13.564, -13.560)),
    ),
    "Alarm": (
        (Point(142, -18.342, -18.618), Point(171, -18.500, -18.431)),
        (Point(335, -13.847, -14.047), Point(538, -13.937, -13.848)),
        (Point(624, -13.666, -13.868), Point(858, -13.741, -13.669)),
    ),
    "Hailfinder": (
        (Point(1628, -71.678, -71.750), Point(1957, -71.618, -71.698)),
        (Point(4820, -70.842, -70.989), Point(4778, -70.787, -71.027)),
        (Point(8472, -70.804, -70.976), Point(5691, -70.761, -71.162)),
    ),
    "NB10": (
        (Point(300, -21.222, -21.306), Point(463, -21.220, -21.305)),
        (Point(2772, -20.842, -21.059), Point(3550, -20.758, -21.092)),
        (Point(5220, -20.687, -21.051), Point(9074, -20.564, -21.166)),
    ),
    "NB20": (
        (Point(179, -20.172, -20.170), Point(224, -20.151, -20.155)),
        (Point(1296, -19.895, -20.013), Point(1425, -19.889, -20.010)),
        (Point(4320, -19.819, -19.991), Point(4193, -19.810, -20.083)),
    ),
    "Rnd15": (
        (Point(42, -16.229, -16.256), Point(46, -16.229, -16.256)),
        (Point(657, -14.872, -14.913), Point(577, -14.865, -14.908)),
        (Point(1080, -14.837, -14.903), Point(607, -14.833, -14.909)),
    ),
    "Rnd20": (
        (Point(51, -20.977, -20.991), Point(56, -20.977, -20.991)),
        (Point(224, -18.580, -18.570), Point(233, -18.515, -18.505)),
        (Point(674, -18.079, -18.129), Point(669, -18.077, -18.134)),
    ),
}
"""Tables 5.10 and 5.11: networks, from small to large, and the smallest graphs that are at least as
likely on the data learnt from."""
