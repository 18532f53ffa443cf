// SPDX-License-Identifier: MIT
// The binary version of CIFAR-10: records of one label byte and 3 x 32 x 32 pixels, channel by channel.
#pragma once

#include <filesystem>

#include "train/data/bytes_pair.h"

namespace tacit {

// Reads data_batch_1.bin to data_batch_5.bin and test_batch.bin; a file may hold any number of records from
// one. Mean and spread are left to the caller. Throws InvalidConfig that names the file and what to change.
BytesPair read_cifar10(const std::filesystem::path& directory);

}  // namespace tacit
