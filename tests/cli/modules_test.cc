// SPDX-License-Identifier: MIT
// The parts of the program that are loaded when a run names something of theirs.
#include <fstream>
#include <set>
#include <sstream>

#include "support/program.h"

namespace tacit::test {
namespace {

class Modules : public Cli {
 protected:
  static constexpr const char* kTorch = "tacit-torch.so";
  static constexpr const char* kSim = "tacit-sim.so";

  static fs::path in_build(const std::string& module) {
    return fs::path(TACIT_PROGRAM).parent_path() / module;
  }
  static bool built(const std::string& module) { return fs::exists(in_build(module)); }

  void write_cluster() { std::ofstream(path("cluster.toml")) << "workers = 2\n[compute]\nstep = \"20ms\"\n"; }
  // The files that a command and its children load, as the dynamic linker notes them.
  std::string loaded_by(const std::string& args) {
    run("env LD_DEBUG=files LD_DEBUG_OUTPUT=loaded '" TACIT_PROGRAM "' " + args);
    std::string all;
    for (const auto& file : fs::directory_iterator(path(".")))
      if (file.path().filename().string().starts_with("loaded.")) {
        all += slurp(file.path());
        fs::remove(file.path());
      }
    EXPECT_NE(all.find("libc.so"), std::string::npos) << "nothing was noted: " << args;
    return all;
  }
  // A program of its own, alone in its folder, for the test to put modules beside.
  void copy_program() {
    fs::create_directory(path("alone"));
    fs::copy_file(TACIT_PROGRAM, path("alone/tacit"));
  }
  void put(const fs::path& module, const std::string& name) {
    fs::copy_file(module, path("alone") / name, fs::copy_options::overwrite_existing);
  }
  void expect_refusal_alone(const std::string& args, const std::vector<std::string>& words) {
    const Result r = run("alone/tacit " + args);
    EXPECT_EQ(r.code, 2) << args << "\n" << r.err;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    for (const std::string& word : words)
      EXPECT_NE(r.err.find(word), std::string::npos) << word << "\n" << r.err;
  }
  // The strong names of Tacit that a file exports: there must be one of each.
  std::set<std::string> defined_in(const fs::path& file) {
    std::istringstream lines(run("nm -D --defined-only '" + file.string() + "'").out);
    std::set<std::string> names;
    std::string address;
    char type = 0;
    for (std::string name; lines >> address >> type >> name;)
      if (std::string("TDBR").find(type) != std::string::npos && name.find("5tacit") != std::string::npos)
        names.insert(name);
    return names;
  }

  const std::string quick_ = " --data synthetic:samples=40,test=10 --batch 4 --steps 1 --quiet";
  const std::string cnn_ = "train --model cnn" + quick_;
  const std::string simulate_ = "simulate --cluster cluster.toml --model logistic" + quick_;
  const std::string compare_ = "compare --cluster cluster.toml --strategies ssgd --model logistic" + quick_;
};

TEST_F(Modules, NothingOfThemIsLoadedUntilARunNamesIt) {
  write_cluster();
  for (const std::string args :
       {"--version", "--help", "list models", "launch -n 2 -- true", "train --model mlp", "train --model cmm",
        "train --model cnn --lr 0", "simulate --cluster none.toml", "bench compress --values 100"}) {
    const std::string loaded = loaded_by(args + (args == "train --model mlp" ? quick_ : ""));
    for (const char* library : {"tacit-torch", "tacit-sim", "libtorch", "libsimgrid"})
      EXPECT_EQ(loaded.find(library), std::string::npos) << args << " loads " << library;
  }
}

TEST_F(Modules, ASimulationLoadsItsOwnAlone) {
  if (!built(kSim)) GTEST_SKIP() << "built without the simulator";
  write_cluster();
  const std::string loaded = loaded_by(simulate_);
  EXPECT_NE(loaded.find("libsimgrid"), std::string::npos);
  EXPECT_EQ(loaded.find("libtorch"), std::string::npos);
}

TEST_F(Modules, AModelOfLibTorchLoadsItsOwnAlone) {
  if (!built(kTorch)) GTEST_SKIP() << "built without LibTorch";
  const std::string loaded = loaded_by(cnn_);
  EXPECT_NE(loaded.find("libtorch"), std::string::npos);
  EXPECT_EQ(loaded.find("libsimgrid"), std::string::npos);
}

TEST_F(Modules, BothWorkInOneRun) {
  if (!built(kTorch) || !built(kSim)) GTEST_SKIP() << "built without one of them";
  write_cluster();
  const std::string cnn = " --model cnn --json" + quick_;
  const auto simulated = json("simulate --cluster cluster.toml" + cnn);
  EXPECT_EQ(simulated.at("weights_hash"), json("train --workers 2" + cnn).at("weights_hash"));
}

TEST_F(Modules, WhereOneIsMissingTheSentenceNamesThePackage) {
  write_cluster();
  copy_program();
  expect_refusal_alone(cnn_, {kTorch, path("alone").string(), "libtorch-dev", "--model mlp"});
  const Result listed = run("alone/tacit list models");
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_NE(listed.out.find("resnet20"), std::string::npos) << listed.out;
  EXPECT_NE(listed.out.find("which this build lacks"), std::string::npos) << listed.out;
  EXPECT_EQ(run("alone/tacit train --model mlp" + quick_).code, 0);
  expect_refusal_alone(simulate_, {"libsimgrid-dev"});
  expect_refusal_alone(compare_, {"libsimgrid-dev"});
}

TEST_F(Modules, WhereALibraryOfOneIsMissingTheSentenceNamesItAndThePackage) {
  copy_program();
  put(TACIT_ORPHAN_MODULE, kTorch);
  expect_refusal_alone(cnn_, {"libtacit_test_absent.so", "libtorch-dev"});
}

TEST_F(Modules, OneOfAnotherBuildIsRefused) {
  copy_program();
  put(TACIT_FOREIGN_MODULE, kTorch);
  expect_refusal_alone(cnn_, {"another build", "0.0.0 foreign"});
}

TEST_F(Modules, AFileThatIsNoModuleIsRefused) {
  copy_program();
  std::ofstream(path("alone") / kTorch) << "nonsense";
  expect_refusal_alone(cnn_, {kTorch, "cannot be loaded"});
}

TEST_F(Modules, AnErrorThrownInOneIsCaughtByItsTypeInTheProgram) {
  // Any other type than InvalidConfig and PeerLost is exit code 1.
  if (built(kTorch))
    expect_refusal("train --model resnet8 --data synthetic:samples=40,test=10,size=4 --steps 1",
                   {"at least 8 x 8 pixels"});
  if (!built(kSim)) return;
  std::ofstream(path("cluster.toml")) << "workers = 2\n[[crash]]\nrank = 1\nat = \"10ms\"\n";
  const Result lost = tacit(simulate_);
  EXPECT_EQ(lost.code, 3) << lost.err;
}

TEST_F(Modules, WhatTheProgramHasTheyHaveNot) {
  const std::set<std::string> program = defined_in(TACIT_PROGRAM);
  EXPECT_GT(program.size(), 100U) << "the program exports its layers";
  for (const std::string module : {kTorch, kSim}) {
    if (!built(module)) continue;
    const std::set<std::string> own = defined_in(in_build(module));
    EXPECT_GT(own.size(), 1U) << module;
    for (const std::string& name : own)
      EXPECT_FALSE(program.contains(name)) << name << " is in " << module << " too";
  }
}

}  // namespace
}  // namespace tacit::test
