// SPDX-License-Identifier: MIT
#include "train/admissions.h"

#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "collectives/unattended.h"
#include "tacit/core/error.h"
#include "tacit/core/version.h"

namespace tacit {
namespace {

enum Method : std::uint32_t { kAsk = 1, kAnswer = 2, kFetch = 3 };

// The answer to kAsk; kFetch gives the rest: what is lent, or why nothing is.
struct Verdict {
  enum class Kind : std::uint32_t { kAdmitted, kRefused, kComeAgain } kind;
  std::uint32_t zero = 0;
  std::uint64_t bytes = 0;
};

}  // namespace

// Both sides of the service. What is not the trainer's runs on its agent.
class Admissions::Desk {
 public:
  Desk(Process& me, std::vector<Setting> settings)
      : me_(me), settings_(std::move(settings)), monitor_(me.tasks().make_monitor()) {
    settings_.push_back({"the version of Tacit", version()});
    service_ = me.control().serve(
        [this](const Call& call, std::unique_ptr<Answer> answer) { handle(call, std::move(answer)); });
  }

  std::vector<std::byte> ask() {
    const std::vector<int> others = me_.others();
    if (others.empty()) throw PeerLost(me_.rank(), me_.rank(), "it has come back, and nobody is left");
    const int sponsor = others.front();
    Verdict verdict{};
    const std::vector<std::byte> settings = pack_settings(settings_);
    service_->call(sponsor, {.method = kAsk, .step = me_.control().entry(me_.rank()), .body = settings},
                   std::as_writable_bytes(std::span(&verdict, 1)));
    std::vector<std::byte> rest(verdict.bytes);
    service_->call(sponsor, {.method = kFetch}, rest);
    if (verdict.kind == Verdict::Kind::kAdmitted) return rest;
    const std::string why(reinterpret_cast<const char*>(rest.data()), rest.size());
    if (verdict.kind == Verdict::Kind::kComeAgain) throw PeerLost(me_.rank(), sponsor, why);
    throw InvalidConfig("rank " + std::to_string(me_.rank()) + " has come back, and rank " +
                        std::to_string(sponsor) + " does not let it in: " + why);
  }

  void look(const Lend& lend) {
    std::optional<Request> asked;
    {
      const std::lock_guard lock(*monitor_);
      asked = std::exchange(asked_, std::nullopt);
    }
    // Of a life that is over by now, nobody waits for the answer.
    if (!asked || me_.control().entry(asked->from) != asked->entry) return;
    StateWriter state;
    std::string why_not;
    auto kind = Verdict::Kind::kAdmitted;
    try {
      lend(me_.admit(asked->from, asked->entry), state);
    } catch (const Mismatch& not_met) {
      kind = Verdict::Kind::kComeAgain;
      why_not = not_met.what();
    }
    {
      const std::lock_guard lock(*monitor_);
      verdict_ = kind;
      rest_ = std::make_shared<const KeptBytes>(kind == Verdict::Kind::kAdmitted ? state.bytes()
                                                                                 : as_bytes(why_not));
    }
    service_->call(me_.rank(), {.method = kAnswer, .step = asked->entry}, {});
  }

 private:
  struct Request {
    int from;
    std::uint32_t entry;
  };

  static ConstBytes as_bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

  void handle(const Call& call, std::unique_ptr<Answer> answer) {
    const std::lock_guard lock(*monitor_);
    if (call.method == kAsk) return take(call, std::move(answer));
    if (call.method == kFetch) {
      const std::shared_ptr<const KeptBytes> rest = std::exchange(rest_, nullptr);
      return answer->send(rest ? rest->view() : ConstBytes(), rest);
    }
    TACIT_CHECK(call.method == kAnswer, "nobody asks anything else of a sponsor");
    // Whoever asks since then is another one, and is looked at after the next step.
    if (answer_ && answer_entry_ == call.step) say(*std::exchange(answer_, nullptr), verdict_);
    answer->send({});
  }

  void take(const Call& call, std::unique_ptr<Answer> answer) {
    const std::string differs = difference(me_.rank(), settings_, call.from, call.body);
    if (!differs.empty()) {
      rest_ = std::make_shared<const KeptBytes>(as_bytes(differs));
      return say(*answer, Verdict::Kind::kRefused);
    }
    answer_ = std::move(answer);
    answer_entry_ = call.step;
    asked_ = Request{call.from, static_cast<std::uint32_t>(call.step)};
  }

  void say(Answer& answer, Verdict::Kind kind) const {
    const Verdict verdict{kind, 0, rest_ ? rest_->view().size() : 0};
    answer.send(std::as_bytes(std::span(&verdict, 1)));
  }

  Process& me_;
  std::vector<Setting> settings_;
  const std::unique_ptr<Monitor> monitor_;
  std::optional<Request> asked_;           // this and the next two are guarded by monitor_
  Verdict::Kind verdict_{};                // on the last one that the trainer looked at
  std::shared_ptr<const KeptBytes> rest_;  // what the last one fetches that was answered
  std::unique_ptr<Answer> answer_;         // the agent's, as the next: to whom asked
  std::int64_t answer_entry_ = 0;
  std::unique_ptr<Service> service_;  // last: it stops before what it uses goes away
};

Admissions::Admissions(Process& me, std::vector<Setting> settings)
    : me_(me), desk_(me.takes_back() ? std::make_unique<Desk>(me, std::move(settings)) : nullptr) {}

Admissions::~Admissions() = default;

std::vector<std::byte> Admissions::ask() {
  TACIT_CHECK(desk_ && me_.outside(), "only a rank that has come back asks to be let in");
  return desk_->ask();
}

void Admissions::look(const Lend& lend) {
  if (desk_) desk_->look(lend);
}

}  // namespace tacit
