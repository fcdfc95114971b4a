"""The published experiments, repeated: one module per paper.

Augmentation (Adel and de Campos) is declared as experiments in `augmentation`, the comparison of
imputers as a study in `imputers` on the public sets of `sources`, decision graphs (THESIS, PDG-SEM)
as studies in `thesis`, `incomplete` and `random_tables`, and learning from incomplete rows in
closed form (Van den Broeck et al.) in `deletion` and `deletion_structure`. Every run goes through
the record in `runner`. The
published figures, and notes on the tables, are the ``.toml`` files of this folder.
"""
