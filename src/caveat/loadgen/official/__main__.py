"""`python -m caveat.loadgen.official`: started by run.py only."""

import sys

from caveat.loadgen.official.child import main

sys.exit(main())
