"""The published experiments, repeated: one module per paper.

Imputation (Adel and de Campos; the comparison of imputers) is declared as experiments in
`augmentation` and `imputers`, and decision graphs (THESIS, PDG-SEM) as studies in `thesis`,
`incomplete` and `random_tables`. Every run goes through the record in `runner`. The published
figures, and notes on the tables, are the ``.toml`` files of this folder.
"""
