// SPDX-License-Identifier: MIT
// Runs a fuzz target over the files of a folder, and over every beginning of each: for compilers without libFuzzer.
//   frames_replay FOLDER
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

#include "fuzz/target.h"

int main(int count, char** words) {
  if (count != 2) {
    std::cerr << "give the folder with the inputs\n";
    return 2;
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(words[1])) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::size_t runs = 0;
  for (const auto& file : files) {
    std::cout << file.filename().string() << std::endl;  // the last one named is the one that failed
    std::ifstream in(file, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
    for (std::size_t size = 0; size <= bytes.size(); ++size, ++runs) {
      // A copy of exactly this size, so that the address sanitizer sees a read beyond it.
      const std::vector<std::uint8_t> input(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      LLVMFuzzerTestOneInput(input.data(), input.size());
    }
  }
  std::cout << files.size() << " files, " << runs << " inputs" << std::endl;
  return files.empty() ? 1 : 0;
}
