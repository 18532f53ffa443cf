# SPDX-License-Identifier: MIT
"""The attacks of bench/hostile.py, one module each."""
