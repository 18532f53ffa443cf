// SPDX-License-Identifier: MIT
// A module whose library is not found.
extern "C" int tacit_test_absent();
extern "C" int tacit_module() { return tacit_test_absent(); }
