"""The ground: exact numbers, parameters, keys, domains, periods, privacy values, processes, temporary files."""
