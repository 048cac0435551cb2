from __future__ import annotations

import pkgutil

# The messages generated for the cases are in a package of the same name, python/gen/conformance.
__path__ = pkgutil.extend_path(__path__, __name__)
