"""`python -m caveat.loopback`: the child that `start_process` starts. People use `caveat loopback`."""

from caveat.loopback.process import serve_child

serve_child()
