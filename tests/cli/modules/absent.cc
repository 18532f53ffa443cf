// SPDX-License-Identifier: MIT
// A library that is not there when the module that needs it is loaded.
extern "C" int tacit_test_absent() { return 1; }
