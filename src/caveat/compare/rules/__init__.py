"""One module per comparability rule; the table of them is `caveat.compare.catalogue`."""
