// SPDX-License-Identifier: MIT
// Quantities as people write them: 10Gbps, 50us.
#pragma once

#include <string>

#include "tacit/core/clock.h"

namespace tacit::sim {

// Both throw InvalidConfig, which begins with `where`, for text that is no such quantity.
Seconds parse_time(const std::string& text, const std::string& where);  // ns, us, ms, s, min, h
double parse_bandwidth(const std::string& text,
                       const std::string& where);  // bps, kbps, Mbps, Gbps, Tbps, or B/s; in bytes

}  // namespace tacit::sim
