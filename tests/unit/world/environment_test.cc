// SPDX-License-Identifier: MIT
// Who started this process and what world follows from it. No variable of the machine that runs the tests is read.
#include "world/environment.h"

#include <gtest/gtest.h>

#include <map>

#include "support/refusal.h"
#include "world/plan.h"

namespace tacit::test {
namespace {

using Kind = WorldChoice::Kind;
using Variables = std::map<std::string, std::string>;

// The map must outlive it.
Environment environment(const Variables& variables) {
  return Environment([&variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

WorldPlan plan(const Variables& variables, const WorldChoice& choice = {}) {
  return plan_world(choice, environment(variables));
}

void expect_words(const std::string& message, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    EXPECT_NE(message.find(word), std::string::npos) << word << " in: " << message;
}

const Variables kTacit{
    {"TACIT_RANK", "2"}, {"TACIT_SIZE", "4"}, {"TACIT_RENDEZVOUS", "tcp://127.0.0.1:7000"}};
const Variables kMpirun{{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "2"}};
const Variables kTorchrun{
    {"RANK", "2"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "node1"}, {"MASTER_PORT", "29500"}};
const Variables kSrun{
    {"SLURM_PROCID", "2"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_NTASKS", "8"}, {"SLURM_STEP_ID", "0"}};
// What sbatch -n 4 and salloc -n 4 give to the one process they start.
const Variables kBatchScript{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "77"}};

Variables with(Variables base, const Variables& more) {
  for (const auto& [name, value] : more) base[name] = value;
  return base;
}
Variables without(Variables base, const std::string& name) {
  base.erase(name);
  return base;
}

struct FoundCase {
  std::string name;
  Variables variables;
  Kind kind;
  int local_ranks;
  std::string how;
};
void PrintTo(const FoundCase& c, std::ostream* os) { *os << c.name; }

class FoundLaunch : public ::testing::TestWithParam<FoundCase> {};

TEST_P(FoundLaunch, GivesRankSizeAndTransport) {
  const WorldPlan p = plan(GetParam().variables);
  EXPECT_EQ(p.kind, GetParam().kind);
  EXPECT_EQ(p.rank, 2);
  EXPECT_EQ(p.size, 4);
  EXPECT_EQ(p.local_ranks, GetParam().local_ranks);
  EXPECT_EQ(p.how, GetParam().how);
}

INSTANTIATE_TEST_SUITE_P(
    All, FoundLaunch,
    ::testing::Values(
        FoundCase{"tacit", with(kTacit, {{"TACIT_LOCAL_SIZE", "2"}}), Kind::kTcp, 2,
                  "4 ranks over TCP on this machine only, as there is no job key, as TACIT_RANK and "
                  "TACIT_SIZE say (tacit launch)"},
        FoundCase{"tacit_with_key", with(kTacit, {{"TACIT_KEY_FD", "7"}}), Kind::kTcp, 0,
                  "4 ranks over TCP with TLS, as TACIT_RANK and TACIT_SIZE say (tacit launch)"},
        FoundCase{"mpirun", with(kMpirun, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}}), Kind::kMpi, 3,
                  "4 ranks over MPI, as OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE say (mpirun)"},
        FoundCase{"pmix_with_the_size_of_open_mpi", without(kMpirun, "OMPI_COMM_WORLD_RANK"), Kind::kMpi, 0,
                  "4 ranks over MPI, as PMIX_RANK and OMPI_COMM_WORLD_SIZE say (mpirun)"},
        FoundCase{"hydra",
                  {{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}, {"MPI_LOCALNRANKS", "4"}},
                  Kind::kMpi,
                  4,
                  "4 ranks over MPI, as PMI_RANK and PMI_SIZE say (mpiexec)"},
        FoundCase{"srun", with(kSrun, {{"SLURM_STEP_TASKS_PER_NODE", "2(x2)"}}), Kind::kMpi, 2,
                  "4 ranks over MPI, as SLURM_PROCID and SLURM_STEP_NUM_TASKS say (srun)"},
        FoundCase{"old_srun",
                  {{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "4"}, {"SLURM_STEP_ID", "0"}},
                  Kind::kMpi,
                  0,
                  "4 ranks over MPI, as SLURM_PROCID and SLURM_NTASKS say (srun)"},
        FoundCase{"srun_with_pmix", with(kSrun, {{"PMIX_RANK", "2"}}), Kind::kMpi, 0,
                  "4 ranks over MPI, as PMIX_RANK and SLURM_STEP_NUM_TASKS say (srun)"},
        FoundCase{"srun_with_pmi2", with(kSrun, {{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}}), Kind::kMpi, 0,
                  "4 ranks over MPI, as SLURM_PROCID and SLURM_STEP_NUM_TASKS say (srun)"},
        FoundCase{"torchrun", with(kTorchrun, {{"LOCAL_WORLD_SIZE", "4"}}), Kind::kTcp, 4,
                  "4 ranks over TCP on this machine only, as there is no job key, as RANK and WORLD_SIZE say "
                  "(torchrun)"},
        // mpirun starts its helpers with srun, one per machine.
        FoundCase{"mpirun_in_a_step",
                  with(kMpirun, with(kSrun, {{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "1"}})),
                  Kind::kMpi, 0,
                  "4 ranks over MPI, as OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE say (mpirun)"},
        FoundCase{"mpirun_in_a_batch_script", with(kBatchScript, kMpirun), Kind::kMpi, 0,
                  "4 ranks over MPI, as OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE say (mpirun)"},
        // One launcher per machine, each a task of srun.
        FoundCase{"torchrun_in_a_step", with(kTorchrun, with(kSrun, {{"SLURM_STEP_NUM_TASKS", "3"}})),
                  Kind::kTcp, 0,
                  "4 ranks over TCP on this machine only, as there is no job key, as RANK and WORLD_SIZE say "
                  "(torchrun)"},
        FoundCase{"tacit_in_a_step", with(kTacit, with(kSrun, {{"SLURM_STEP_NUM_TASKS", "3"}})), Kind::kTcp,
                  0,
                  "4 ranks over TCP on this machine only, as there is no job key, as TACIT_RANK and "
                  "TACIT_SIZE say (tacit launch)"},
        // Equal sizes contradict nothing, and the innermost launcher counts.
        FoundCase{"tacit_and_mpirun_of_one_size", with(kTacit, kMpirun), Kind::kTcp, 0,
                  "4 ranks over TCP on this machine only, as there is no job key, as TACIT_RANK and "
                  "TACIT_SIZE say (tacit launch)"},
        FoundCase{"mpirun_and_torchrun_names_of_one_size", with(kMpirun, kTorchrun), Kind::kMpi, 0,
                  "4 ranks over MPI, as OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE say (mpirun)"},
        // Scripts export these for programs of their own.
        FoundCase{"srun_beside_half_of_torchrun",
                  with(kSrun, {{"WORLD_SIZE", "4"}, {"MASTER_ADDR", "node1"}, {"MASTER_PORT", "29500"}}),
                  Kind::kMpi, 0, "4 ranks over MPI, as SLURM_PROCID and SLURM_STEP_NUM_TASKS say (srun)"}),
    [](const auto& each) { return each.param.name; });

struct RefusedCase {
  std::string name;
  Variables variables;
  std::vector<std::string> words;
};
void PrintTo(const RefusedCase& c, std::ostream* os) { *os << c.name; }

class RefusedLaunch : public ::testing::TestWithParam<RefusedCase> {};

TEST_P(RefusedLaunch, IsNeverAWorldOfOne) {
  expect_words(refusal([&] { plan(GetParam().variables); }), GetParam().words);
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedLaunch,
    ::testing::Values(
        RefusedCase{"tacit_rank_alone",
                    {{"TACIT_RANK", "1"}},
                    {"TACIT_RANK=1", "without TACIT_SIZE and TACIT_RENDEZVOUS"}},
        RefusedCase{
            "tacit_without_rendezvous", without(kTacit, "TACIT_RENDEZVOUS"), {"without TACIT_RENDEZVOUS"}},
        RefusedCase{"tacit_rank_empty", with(kTacit, {{"TACIT_RANK", ""}}), {"without TACIT_RANK"}},
        RefusedCase{"rank_without_world_size", {{"RANK", "0"}}, {"RANK=0", "WORLD_SIZE", "unset"}},
        RefusedCase{"world_size_without_rank", {{"WORLD_SIZE", "4"}}, {"WORLD_SIZE=4", "without RANK"}},
        RefusedCase{"torchrun_without_address", without(kTorchrun, "MASTER_ADDR"), {"without MASTER_ADDR"}},
        RefusedCase{"mpirun_size_alone", {{"OMPI_COMM_WORLD_SIZE", "4"}}, {"without OMPI_COMM_WORLD_RANK"}},
        RefusedCase{"mpirun_rank_alone", {{"OMPI_COMM_WORLD_RANK", "0"}}, {"without OMPI_COMM_WORLD_SIZE"}},
        RefusedCase{"hydra_size_alone", {{"PMI_SIZE", "4"}}, {"without PMI_RANK"}},
        RefusedCase{"pmix_rank_alone", {{"PMIX_RANK", "0"}}, {"PMIX_RANK=0", "mpirun or srun"}},
        RefusedCase{
            "rank_too_high", with(kTacit, {{"TACIT_RANK", "4"}}), {"TACIT_RANK=4", "TACIT_SIZE=4", "is 3"}},
        RefusedCase{
            "rank_below_zero", with(kMpirun, {{"OMPI_COMM_WORLD_RANK", "-1"}}), {"OMPI_COMM_WORLD_RANK=-1"}},
        RefusedCase{"size_of_zero", with(kTorchrun, {{"WORLD_SIZE", "0"}}), {"WORLD_SIZE=0"}},
        RefusedCase{
            "not_a_number", with(kTacit, {{"TACIT_SIZE", "four"}}), {"TACIT_SIZE=four", "whole number"}},
        RefusedCase{"number_with_a_tail", with(kTacit, {{"TACIT_SIZE", "4x"}}), {"TACIT_SIZE=4x"}},
        RefusedCase{"number_past_every_limit", with(kTacit, {{"TACIT_SIZE", "99999999999"}}), {"TACIT_SIZE"}},
        RefusedCase{
            "tacit_of_another_size_under_mpirun",
            with(kTacit, with(kMpirun, {{"OMPI_COMM_WORLD_SIZE", "8"}})),
            {"TACIT_SIZE=4 (tacit launch)", "OMPI_COMM_WORLD_SIZE=8 (mpirun)", "contradict", "unset"}},
        RefusedCase{"torchrun_of_another_size_under_mpirun",
                    with(kMpirun, with(kTorchrun, {{"WORLD_SIZE", "3"}})),
                    {"OMPI_COMM_WORLD_SIZE=4", "WORLD_SIZE=3 (torchrun)"}},
        RefusedCase{"srun_beside_another_world_size",
                    with(kSrun, {{"WORLD_SIZE", "16"}}),
                    {"SLURM_STEP_NUM_TASKS=4", "WORLD_SIZE=16"}},
        RefusedCase{"batch_script", kBatchScript, {"SLURM_NTASKS=4", "srun", "--workers"}},
        // A shell of salloc is a step of one task in an allocation of four.
        RefusedCase{"interactive_step",
                    with(kBatchScript, {{"SLURM_STEP_ID", "4294967290"}, {"SLURM_STEP_NUM_TASKS", "1"}}),
                    {"SLURM_NTASKS=4", "srun"}},
        RefusedCase{"two_keys",
                    with(kTacit, {{"TACIT_KEY_FD", "7"}, {"TACIT_KEY_FILE", "key"}}),
                    {"TACIT_KEY_FILE", "TACIT_KEY_FD"}},
        RefusedCase{"key_and_plaintext",
                    with(kTacit, {{"TACIT_KEY_FD", "7"}, {"TACIT_INSECURE_PLAINTEXT", "1"}}),
                    {"key", "TACIT_INSECURE_PLAINTEXT"}},
        RefusedCase{"plaintext_of_neither_kind",
                    with(kTacit, {{"TACIT_INSECURE_PLAINTEXT", "maybe"}}),
                    {"TACIT_INSECURE_PLAINTEXT=maybe", "1 or 0"}},
        RefusedCase{"job_with_a_slash", with(kTacit, {{"TACIT_JOB", "a/b"}}), {"TACIT_JOB=a/b"}},
        RefusedCase{"job_too_long", with(kTacit, {{"TACIT_JOB", std::string(65, 'a')}}), {"TACIT_JOB", "64"}},
        RefusedCase{"listener_of_another_rank",
                    with(kTacit, {{"TACIT_LISTEN_FD", "5"}}),
                    {"TACIT_LISTEN_FD=5", "rank 2"}},
        RefusedCase{"port_after_the_last",
                    with(kTorchrun, {{"MASTER_PORT", "65535"}, {"TORCHELASTIC_USE_AGENT_STORE", "True"}}),
                    {"65536", "TACIT_PORT"}}),
    [](const auto& each) { return each.param.name; });

TEST(WorldPlan, WithoutALauncherIsThreads) {
  for (const Variables& nobody :
       {Variables{}, Variables{{"MASTER_ADDR", "node1"}, {"MASTER_PORT", "1"}},
        Variables{{"TACIT_KEY_FILE", "key"}}, Variables{{"SLURM_NTASKS", "1"}, {"SLURM_PROCID", "0"}},
        Variables{{"SLURM_STEP_ID", "0"},
                  {"SLURM_PROCID", "0"},
                  {"SLURM_STEP_NUM_TASKS", "1"},
                  {"PMIX_RANK", "0"}}}) {
    const WorldPlan p = plan(nobody);
    EXPECT_EQ(p.kind, Kind::kThreads);
    EXPECT_EQ(p.size, 1);
    EXPECT_EQ(p.how, "");
    EXPECT_EQ(plan(nobody, {.workers = 3}).size, 3);
  }
}

TEST(WorldPlan, ABatchScriptThatSaysHowManyThreadsIsBelieved) {
  EXPECT_EQ(plan(kBatchScript, {.workers = 4}).kind, Kind::kThreads);
  EXPECT_EQ(plan(kBatchScript, {.kind = Kind::kThreads}).size, 1);
}

TEST(WorldPlan, WorkersMustBeWhatTheLauncherStarted) {
  EXPECT_EQ(plan(kMpirun, {.workers = 4}).kind, Kind::kMpi);
  expect_words(refusal([] { plan(kMpirun, {.workers = 2}); }),
               {"--workers 2", "mpirun started 4 ranks", "OMPI_COMM_WORLD_SIZE=4", "leave --workers out"});
}

TEST(WorldPlan, AnExplicitChoiceOfThreadsIgnoresLaunchers) {
  const WorldPlan p = plan(with(kMpirun, {{"RANK", "half"}}), {.kind = Kind::kThreads, .workers = 2});
  EXPECT_EQ(p.kind, Kind::kThreads);
  EXPECT_EQ(p.size, 2);
}

TEST(WorldPlan, MpiNeedsALauncherOfMpi) {
  EXPECT_EQ(plan(with(kTacit, kMpirun), {.kind = Kind::kMpi}).kind, Kind::kMpi);
  for (const Variables& variables : {Variables{}, kTacit, kTorchrun})
    expect_words(refusal([&] { plan(variables, {.kind = Kind::kMpi}); }), {"mpirun or srun"});
}

TEST(WorldPlan, TcpUnderMpirunNeedsAPlaceToMeet) {
  expect_words(refusal([] { plan(kMpirun, {.kind = Kind::kTcp}); }), {"mpirun", "--rendezvous"});
  const WorldPlan p =
      plan(with(kMpirun, {{"TACIT_JOB", "a.b-c_1"}}), {.kind = Kind::kTcp, .rendezvous = "file:///x"});
  EXPECT_EQ(p.kind, Kind::kTcp);
  EXPECT_EQ(p.tcp.rank, 2);
  EXPECT_EQ(p.tcp.size, 4);
  EXPECT_EQ(p.tcp.rendezvous, "file:///x");
  EXPECT_EQ(p.tcp.job, "a.b-c_1");
  expect_words(refusal([] { plan({}, {.kind = Kind::kTcp, .rendezvous = "file:///x"}); }),
               {"tacit launch", "TACIT_RANK"});
}

TEST(WorldPlan, TcpSettingsComeFromTheEnvironmentUnlessTheUserSaysOthers) {
  Variables variables =
      with(kTacit, {{"TACIT_RANK", "0"}, {"TACIT_LISTEN_FD", "9"}, {"TACIT_KEY_FILE", "a"}});
  WorldPlan p = plan(variables);
  EXPECT_EQ(p.tcp.rendezvous, "tcp://127.0.0.1:7000");
  EXPECT_EQ(p.tcp.job, "tacit");
  EXPECT_EQ(p.tcp.listener, 9);
  EXPECT_EQ(p.key_file, "a");
  p = plan(variables, {.rendezvous = "tcp://other:1", .key_file = "b"});
  EXPECT_EQ(p.tcp.rendezvous, "tcp://other:1");
  EXPECT_EQ(p.key_file, "b");
  p = plan(variables, {.insecure_plaintext = true});
  EXPECT_EQ(p.key_file, "");
  EXPECT_TRUE(p.tcp.insecure_plaintext);
  EXPECT_EQ(p.tcp.start_limit, Seconds(60));
  EXPECT_EQ(plan(with(kTacit, {{"TACIT_START_LIMIT", "600"}})).tcp.start_limit, Seconds(600));
  expect_words(refusal([] { plan(with(kTacit, {{"TACIT_START_LIMIT", "0"}})); }), {"TACIT_START_LIMIT=0"});
}

TEST(WorldPlan, ARankThatComesBackIsToldToWhom) {
  EXPECT_FALSE(plan(kTacit).tcp.take_back);
  EXPECT_EQ(plan(kTacit).tcp.entry, 0U);
  EXPECT_TRUE(plan(with(kTacit, {{"TACIT_TAKE_BACK", "1"}})).tcp.take_back);
  const auto returns = [](const char* members) {
    return plan(with(kTacit, {{"TACIT_RETURN", "7"}, {"TACIT_MEMBERS", members}})).tcp;
  };
  const TcpOptions tcp = returns("0@127.0.0.1:4001,1@[fe80::1]:4002");
  EXPECT_TRUE(tcp.take_back);
  EXPECT_EQ(tcp.entry, 7U);
  EXPECT_EQ(tcp.members, (std::vector<TcpMember>{{0, "127.0.0.1", 4001}, {1, "fe80::1", 4002}}));
  for (const char* bad : {"0", "0@", "0@host", "0@:1", "0@host:0", "0@host:70000", "x@host:1", "-1@host:1",
                          "99@host:1", "0@host:1x"})
    expect_words(refusal([&] { returns(bad); }), {"TACIT_MEMBERS", "RANK@HOST:PORT"});
  expect_words(refusal([&] { plan(with(kTacit, {{"TACIT_RETURN", "7"}})); }), {"TACIT_MEMBERS does not say"});
  expect_words(refusal([&] { plan(with(kTacit, {{"TACIT_RETURN", "0"}})); }), {"TACIT_RETURN=0"});
}

TEST(WorldPlan, TorchrunRanksMeetBesideItsOwnAgent) {
  EXPECT_EQ(plan(kTorchrun).tcp.rendezvous, "tcp://node1:29500");
  const Variables elastic =
      with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}, {"TORCHELASTIC_RUN_ID", "my run/1"}});
  EXPECT_EQ(plan(elastic).tcp.rendezvous, "tcp://node1:29501");
  EXPECT_EQ(plan(elastic).tcp.job, "my_run_1");
  EXPECT_EQ(plan(with(elastic, {{"TACIT_PORT", "7000"}})).tcp.rendezvous, "tcp://node1:7000");
  EXPECT_EQ(plan(with(kTorchrun, {{"MASTER_ADDR", "fe80::1"}})).tcp.rendezvous, "tcp://[fe80::1]:29500");
  EXPECT_EQ(plan(with(kTorchrun, {{"TORCHELASTIC_RUN_ID", std::string(99, 'r')}})).tcp.job.size(), 64U);
}

}  // namespace
}  // namespace tacit::test
