"""Ibis: warehouses that count by one statement of Ibis, and give the pairs of users and items for everything else."""
