// SPDX-License-Identifier: MIT
// The file format of MNIST and its successors, plain or gzipped: a magic number (two zero bytes, a type, the
// number of dimensions), the dimensions as big-endian 32-bit integers, then the values.
#pragma once

#include <filesystem>

#include "tacit/train/dataset.h"

namespace tacit {

// Reads grey images and their labels; mean and spread are left to the caller.
//
// Errors  InvalidConfig that names the file and what to change; a file's header is not believed before the
//         bytes it announces have been read.
ImageBytes read_idx(const std::filesystem::path& images, const std::filesystem::path& labels, int classes);

}  // namespace tacit
