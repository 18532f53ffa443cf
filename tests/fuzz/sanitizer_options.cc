// SPDX-License-Identifier: MIT
// What the address sanitizer asks for when it starts.
extern "C" const char* __asan_default_options();

// It keeps freed memory for a while to find late uses. An input frees little, and fresh memory is slow.
extern "C" const char* __asan_default_options() { return "quarantine_size_mb=16"; }
