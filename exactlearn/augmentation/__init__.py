"""The exact and the t-local optimistic augmentation of Adel and de Campos."""
