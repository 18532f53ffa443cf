cmake_minimum_required(VERSION 3.25)
# Writes a header with a name for what the program and its modules are built from, so that each knows the other. Equal
# sources, compiled equally, have equal names.
#   cmake -DSOURCE=... -DVERSION=... -DHOW=... -DOUT=... -P build_id.cmake
file(GLOB_RECURSE files LIST_DIRECTORIES false RELATIVE ${SOURCE} ${SOURCE}/src/* ${SOURCE}/include/*)
list(SORT files)
set(all "${HOW}")
foreach(file IN LISTS files)
  file(SHA256 ${SOURCE}/${file} hash)
  string(APPEND all "\n${file} ${hash}")
endforeach()
string(SHA256 id "${all}")
string(SUBSTRING ${id} 0 16 id)
# Written only where it differs.
file(CONFIGURE OUTPUT ${OUT} CONTENT "// SPDX-License-Identifier: MIT
#pragma once

namespace tacit::cli {

constexpr char kBuildId[] = \"${VERSION} ${id}\";

}  // namespace tacit::cli
")
