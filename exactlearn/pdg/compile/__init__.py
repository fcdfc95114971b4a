"""Compilation of networks into small decision graphs."""
