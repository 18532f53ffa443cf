// SPDX-License-Identifier: MIT
// Whether all ranks were told the same, asked before they exchange anything that depends on it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tacit/collectives/comm.h"

namespace tacit {

// Something that all ranks of a job must have alike, under the name by which its user knows it.
struct Setting {
  std::string name;   // "--lr"
  std::string value;  // "0.01"; empty: not given
};

// Collective. Returns where all ranks have the same settings, at the cost of two sums of a few floats; the texts
// themselves travel only where they differ. Otherwise it throws the same InvalidConfig on every rank, which names each
// setting that differs, its values and the ranks that have them: "--lr is 0.01 on ranks 0, 2 and 3 and 0.02 on rank 1;
// give every rank the same".
//
// Errors  InvalidConfig; then what Comm throws.
void agree(Comm& control, std::span<const Setting> mine);

// The same between two ranks alone: what one of them sends, and what the other finds, in the same words; empty where they
// agree. Throws Mismatch for bytes that are no settings.
std::vector<std::byte> pack_settings(std::span<const Setting> settings);
std::string difference(int rank, std::span<const Setting> mine, int peer, ConstBytes packed);

}  // namespace tacit
