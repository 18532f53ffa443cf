// SPDX-License-Identifier: MIT
#include "transport/tcp/reactor.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tacit::test {
namespace {

void post_failure(Reactor& reactor) {
  boost::asio::post(reactor.io(), [] { throw std::runtime_error("a handler fails"); });
}

// A lead that is not given back leaves the next one who waits asleep until its deadline.
void expect_led_again(Reactor& reactor) {
  bool ran = false;
  boost::asio::post(reactor.io(), [&] { ran = true; });
  EXPECT_TRUE(reactor.wait_until([&] { return ran; }, RealClock().now() + Seconds(5)));
}

TEST(Reactor, GivesTheLeadBackWhenAHandlerThrowsWhileSomebodyWaits) {
  Reactor reactor;
  post_failure(reactor);
  EXPECT_THROW(reactor.wait_until([] { return false; }, kNever), std::runtime_error);
  expect_led_again(reactor);
}

TEST(Reactor, GivesTheLeadBackWhenAHandlerThrowsWhileNobodyWaits) {
  Reactor reactor;
  post_failure(reactor);
  EXPECT_THROW(reactor.lead_while_idle(kNever), std::runtime_error);
  expect_led_again(reactor);
}

}  // namespace
}  // namespace tacit::test
