import pytest

from exactlearn.errors import OptionError
from exactlearn.formats.bif import read_bif
from exactlearn.instances import names, path

# Variables, arcs, free parameters.
SIZES = {
    "asia": (8, 8, 18),
    "cancer": (5, 4, 10),
    "earthquake": (5, 4, 10),
    "survey": (6, 6, 21),
    "lucas": (12, 12, 29),
    "logic1": (10, 11, 26),
}


@pytest.mark.parametrize("name", SIZES)
def test_bundled_networks_load_and_name_their_source(name):
    network = read_bif(path(f"{name}.bif"))
    assert (
        network.n_variables,
        len(network.arcs),
        network.representational_size,
    ) == SIZES[name]
    assert path(f"{name}.bif").read_text().startswith("// ")
    assert "typed from" in path(f"{name}.bif").read_text()


@pytest.mark.parametrize("name", [name for name in SIZES if name != "logic1"])
def test_bundled_networks_equal_the_public_copies(data_dir, name):
    file = "lucas/lucas.bif" if name == "lucas" else f"bif/{name}.bif.gz"
    ours, public = read_bif(path(f"{name}.bif")), read_bif(data_dir / file)
    assert (ours.names, ours.states, ours.parents) == (
        public.names,
        public.states,
        public.parents,
    )
    for a, b in zip(ours.tables, public.tables, strict=True):
        assert a.tobytes() == b.tobytes()


def test_names_are_listed_by_suffix():
    assert set(names(".bif")) >= {f"{name}.bif" for name in SIZES}
    assert all(name.endswith(".bif") for name in names(".bif"))
    assert set(names()) == {
        n for suffix in (".bif", ".csv", ".toml") for n in names(suffix)
    }
    assert all(path(name).is_file() for name in names())


def test_unknown_names_get_a_suggestion():
    with pytest.raises(
        OptionError, match=r"no bundled file 'aisa.bif'; did you mean 'asia.bif'"
    ):
        path("aisa.bif")
