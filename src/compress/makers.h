// SPDX-License-Identifier: MIT
// One function per compressor; the registry names them all.
#pragma once

#include "tacit/compress/compression.h"

namespace tacit {

#define TACIT_COMPRESSOR(name) CompressorInfo name##_info();
#include "compress/compressors.def"
#undef TACIT_COMPRESSOR

// The option ratio=, in (0, 1].
double read_ratio(OptionReader& options, double fallback);
// The options ef and dgc, which all compressors have.
bool read_ef(OptionReader& options);
bool read_dgc(OptionReader& options);
// The ratio of an owner's answer, from `answer=`, how many times that of one rank it is.
double read_answer(OptionReader& options, double ratio);

}  // namespace tacit
