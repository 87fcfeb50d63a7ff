"""Peers: other load clients beside ours, on one server, in one run: `python -m benchmarks.peers --help`.

install.py   the peers, each in an environment of its own
servers.py   the server, and what it saw of each request
clients.py   the table of clients: how each is started for a load
gauge.py     what a client's processes cost, seen from outside
table.py     the figures of one client at one load, and the targets
"""
