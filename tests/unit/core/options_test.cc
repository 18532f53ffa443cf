// SPDX-License-Identifier: MIT
#include "tacit/core/options.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "support/refusal.h"
#include "tacit/core/error.h"
#include "tacit/core/registry.h"
#include "tacit/core/text.h"

namespace tacit {
namespace {

using test::refusal;

OptionReader reader(const std::string& text) { return OptionReader(Spec::parse(text)); }

void expect_says(const std::string& message, const std::vector<std::string>& words) {
  EXPECT_FALSE(message.empty()) << "was not refused";
  for (const std::string& word : words)
    EXPECT_NE(message.find(word), std::string::npos) << "'" << word << "' is missing in: " << message;
}

TEST(Spec, NameAndOptionsAreSplitAtColonCommaAndEquals) {
  const Spec spec = Spec::parse("local:period=8,mode=post");
  EXPECT_EQ(spec.name, "local");
  EXPECT_EQ(spec.options, (std::map<std::string, std::string>{{"mode", "post"}, {"period", "8"}}));
}

TEST(Spec, ANameAloneHasNoOptions) {
  EXPECT_EQ(Spec::parse("ssgd").name, "ssgd");
  EXPECT_TRUE(Spec::parse("ssgd").options.empty());
  EXPECT_TRUE(Spec::parse("ssgd:").options.empty());
}

TEST(Spec, DashIsUnderscoreInNamesAndKeysButNotInValues) {
  const Spec spec = Spec::parse("fashion-mnist:test-size=a-b");
  EXPECT_EQ(spec.name, "fashion_mnist");
  EXPECT_EQ(spec.options.at("test_size"), "a-b");
}

TEST(Spec, KeepsTheTextOfTheUser) { EXPECT_EQ(Spec::parse("a-b:c-d=1").text, "a-b:c-d=1"); }

TEST(Spec, ABareKeyIsTrueAndAnEmptyValueStaysEmpty) {
  const Spec spec = Spec::parse("sgd:nesterov,path=");
  EXPECT_EQ(spec.options.at("nesterov"), "true");
  EXPECT_EQ(spec.options.at("path"), "");
}

TEST(Spec, OnlyTheFirstColonAndTheFirstEqualsSeparate) {
  const Spec spec = Spec::parse("cifar10:path=c:/a=b");
  EXPECT_EQ(spec.name, "cifar10");
  EXPECT_EQ(spec.options.at("path"), "c:/a=b");
}

TEST(Spec, ADuplicateKeyIsRefusedEvenInTwoSpellings) {
  expect_says(refusal([] { Spec::parse("mlp:hidden=1,hidden=1"); }), {"mlp:hidden=1,hidden=1", "'hidden'"});
  expect_says(refusal([] { Spec::parse("sgd:weight-decay=1,weight_decay=2"); }), {"'weight_decay'"});
}

TEST(Spec, AnEmptyNameIsRefused) {
  expect_says(refusal([] { Spec::parse(""); }), {"no name"});
  expect_says(refusal([] { Spec::parse(":period=4"); }), {":period=4", "no name"});
}

TEST(Spec, AnEmptyKeyIsRefused) {
  expect_says(refusal([] { Spec::parse("local:=4"); }), {"local:=4", "without a name"});
  expect_says(refusal([] { Spec::parse("local:a=1,,b=2"); }), {"without a name"});
}

TEST(OptionReader, GivesTheFallbackForWhatTheUserDidNotWrite) {
  OptionReader options = reader("x");
  const std::array<std::string, 1> allowed{"one"};
  EXPECT_EQ(options.integer("i", 7, 0, 9, {"an integer"}), 7);
  EXPECT_EQ(options.number("n", 0.5, 0, 1, {"a number"}), 0.5);
  EXPECT_TRUE(options.flag("f", true, {"a switch"}));
  EXPECT_FALSE(options.flag("g", false, {"a switch"}));
  EXPECT_EQ(options.text("t", "some", {"a text"}), "some");
  EXPECT_EQ(options.choice("c", "one", allowed, {"a choice"}), "one");
  EXPECT_NO_THROW(options.finish());
}

TEST(OptionReader, IntegersReachTheirBoundsAndNotBeyond) {
  EXPECT_EQ(reader("x:k=-3").integer("k", 0, -3, 5, {"k"}), -3);
  EXPECT_EQ(reader("x:k=5").integer("k", 0, -3, 5, {"k"}), 5);
  EXPECT_THROW(reader("x:k=-4").integer("k", 0, -3, 5, {"k"}), InvalidConfig);
  EXPECT_THROW(reader("x:k=6").integer("k", 0, -3, 5, {"k"}), InvalidConfig);
}

TEST(OptionReader, AnIntegerIsWhollyAnInteger) {
  for (const char* bad : {"4x", "x4", "4.0", "1e3", "", " 4", "true", "99999999999999999999"}) {
    const std::string text = std::string("local:period=") + bad;
    expect_says(refusal([&] { reader(text).integer("period", 16, 1, 1000, {"steps"}); }),
                {"local", "period=" + std::string(bad), "integer", "[1, 1000]"});
  }
}

TEST(OptionReader, NumbersReachTheirBoundsAndNotBeyond) {
  EXPECT_EQ(reader("x:k=0").number("k", 1, 0, 0.25, {"k"}), 0);
  EXPECT_EQ(reader("x:k=0.25").number("k", 1, 0, 0.25, {"k"}), 0.25);
  EXPECT_EQ(reader("x:k=1e-3").number("k", 1, 0, 0.25, {"k"}), 1e-3);
  EXPECT_THROW(reader("x:k=-0.001").number("k", 1, 0, 0.25, {"k"}), InvalidConfig);
  EXPECT_THROW(reader("x:k=0.2501").number("k", 1, 0, 0.25, {"k"}), InvalidConfig);
}

TEST(OptionReader, ANumberIsWhollyAFiniteNumber) {
  for (const char* bad : {"nan", "-nan", "inf", "-inf", "infinity", "1e999", "0.1x", "", "true"}) {
    const std::string text = std::string("sgd:momentum=") + bad;
    expect_says(refusal([&] { reader(text).number("momentum", 0, -1e300, 1e300, {"momentum"}); }),
                {"sgd", "momentum=" + std::string(bad), "a number in [-1e+300, 1e+300]"});
  }
}

TEST(OptionReader, FlagsAreYesOrNoInThreeSpellings) {
  for (const char* yes : {"true", "1", "yes"})
    EXPECT_TRUE(reader(std::string("x:f=") + yes).flag("f", false, {"a switch"})) << yes;
  for (const char* no : {"false", "0", "no"})
    EXPECT_FALSE(reader(std::string("x:f=") + no).flag("f", true, {"a switch"})) << no;
  EXPECT_TRUE(reader("x:f").flag("f", false, {"a switch"}));
  expect_says(refusal([] { reader("sgd:nesterov=2").flag("nesterov", false, {"a switch"}); }),
              {"sgd", "nesterov=2", "true or false"});
}

TEST(OptionReader, AChoiceIsOneOfTheAllowedInAnySpelling) {
  const std::array<std::string, 2> allowed{"ring", "halving_doubling"};
  EXPECT_EQ(reader("x:a=ring").choice("a", "halving_doubling", allowed, {"a choice"}), "ring");
  EXPECT_EQ(reader("x:a=halving-doubling").choice("a", "ring", allowed, {"a choice"}), "halving_doubling");
  expect_says(
      refusal([&] { reader("ssgd:algorithm=rong").choice("algorithm", "ring", allowed, {"a choice"}); }),
      {"ssgd", "algorithm", "'rong'", "did you mean 'ring'", "halving_doubling"});
}

TEST(OptionReader, TextIsTakenAsItIs) {
  EXPECT_EQ(reader("x:path=/a-b/c.d").text("path", "", {"a path"}), "/a-b/c.d");
}

TEST(OptionReader, AnOptionNobodyAskedForIsRefusedWithTheNearest) {
  OptionReader options = reader("local:perod=4");
  EXPECT_EQ(options.integer("period", 16, 1, 1000, {"steps"}), 16);
  options.number("momentum", 0, 0, 1, {"momentum"});
  expect_says(refusal([&] { options.finish(); }),
              {"local", "unknown option 'perod'", "did you mean 'period'", "momentum"});
}

TEST(OptionReader, AskingWhetherAKeyWasGivenDoesNotTakeIt) {
  OptionReader options = reader("local:period=4");
  EXPECT_TRUE(options.given("period"));
  EXPECT_FALSE(options.given("momentum"));
  expect_says(refusal([&] { options.finish(); }), {"'period'"});
  EXPECT_EQ(options.integer("period", 16, 1, 1000, {"steps"}), 4);
  EXPECT_NO_THROW(options.finish());
  EXPECT_TRUE(options.given("period"));
}

TEST(OptionReader, RemembersWhatWasAskedForOnceAndInOrder) {
  OptionReader options = reader("x:n=0.5");
  const std::array<std::string, 3> allowed{"one", "two", "three"};
  options.number("n", 0.25, 0, 1, {"a share"});
  options.integer("i", 7, 0, std::numeric_limits<std::int64_t>::max(), {"a count", "the number of ranks"});
  options.choice("c", "one", allowed, {"a choice"});
  options.flag("f", false, {"a switch"});
  options.text("t", "", {"a text"});
  options.number("n", 0.25, 0, 1, {"said again"});
  ASSERT_EQ(options.asked().size(), 5U);
  const auto is = [&](std::size_t at, const char* key, const char* fallback, const char* range,
                      const char* meaning) {
    const OptionInfo& o = options.asked()[at];
    EXPECT_EQ(std::vector({o.key, o.fallback, o.range, o.meaning}),
              (std::vector<std::string>{key, fallback, range, meaning}));
  };
  is(0, "n", "0.25", "0 to 1", "a share");  // its default, whatever the user gave
  is(1, "i", "the number of ranks", "0 or more", "a count");
  is(2, "c", "one", "one, two or three", "a choice");
  is(3, "f", "false", "true or false", "a switch");
  is(4, "t", "", "", "a text");
}

TEST(OptionReader, AnOptionWithoutAMeaningBesideTheOthersIsRefusedWhereItIsGiven) {
  OptionReader options = reader("gossip:overlap");
  EXPECT_NO_THROW(options.only_with("overlap", true, "mode=pull"));
  EXPECT_NO_THROW(options.only_with("push_sum", false, "mode=push"));
  expect_says(refusal([&] { options.only_with("overlap", false, "mode=pull"); }),
              {"gossip", "overlap", "mode=pull"});
}

TEST(Text, TheNearestNameIsFoundInOtherLetters) {
  const std::vector<std::string> known{"ssgd", "local"};
  EXPECT_EQ(nearest("SSGD", known), "ssgd");
  EXPECT_EQ(nearest("Lokal", known), "local");
}

TEST(Text, CanonicalTurnsEveryDashIntoAnUnderscore) {
  EXPECT_EQ(canonical("a-b_c-d"), "a_b_c_d");
  EXPECT_EQ(canonical("Plain"), "Plain");
  EXPECT_EQ(canonical(""), "");
}

TEST(Text, NearestIsTheKnownNameWithTheFewestChangedLetters) {
  const std::vector<std::string> known{"logistic", "mlp", "quadratic", "halving_doubling"};
  EXPECT_EQ(nearest("logstic", known), "logistic");
  EXPECT_EQ(nearest("quadratics", known), "quadratic");
  EXPECT_EQ(nearest("mpl", known), "mlp");
  EXPECT_EQ(nearest("halving-doublin", known), "halving_doubling");
  const std::vector<std::string> near_each_other{"adamw", "adam"};
  EXPECT_EQ(nearest("adan", near_each_other), "adam");
}

TEST(Text, NearestIsEmptyWhereNothingIsNear) {
  const std::vector<std::string> known{"logistic", "quadratic"};
  EXPECT_EQ(nearest("transformer", known), "");
  EXPECT_EQ(nearest("cnn", known), "");
  EXPECT_EQ(nearest("cnn", {}), "");
}

TEST(Text, UnknownNameSuggestsAndListsWhatIsKnown) {
  const std::vector<std::string> known{"cnn", "mlp"};
  EXPECT_EQ(unknown_name("model", "cnm", known), "unknown model 'cnm'; did you mean 'cnn'? Known: cnn, mlp");
  EXPECT_EQ(unknown_name("model", "transformer", known), "unknown model 'transformer'; known: cnn, mlp");
  EXPECT_EQ(unknown_name("option", "x", {}), "unknown option 'x'; none is known here");
}

struct Thing {
  std::string name;
  int factor = 1;
};

Registry<Thing> things() { return Registry<Thing>("thing", {{"double", 2}, {"ten_fold", 10}}); }

std::int64_t times(const Thing& thing, OptionReader& options) {
  return thing.factor * options.integer("value", 1, 0, 100, {"a factor"});
}

TEST(Registry, BuildsTheNamedEntryWithItsOptions) {
  EXPECT_EQ(things().make("double:value=4", times), 8);
  EXPECT_EQ(things().make("ten-fold", times), 10);
}

TEST(Registry, OptionsBehindACommaAreShownBehindAColon) {
  expect_says(refusal([] { things().make("double,value=4", times); }),
              {"'double,value=4'", "write double:value=4"});
  expect_says(refusal([] { things().make("treble,value=4", times); }), {"unknown thing"});
}

TEST(Registry, SaysWhichOptionsAnEntryHas) {
  const Registry<Thing> known = things();
  const std::vector<OptionInfo> options = known.options_of(known.all()[0], times);
  ASSERT_EQ(options.size(), 1U);
  EXPECT_EQ(options[0].key, "value");
  EXPECT_EQ(options[0].range, "0 to 100");
}

TEST(Registry, ListsItsEntriesInTheOrderOfAdding) {
  EXPECT_EQ(things().names(), (std::vector<std::string>{"double", "ten_fold"}));
  const Registry<Thing> known = things();
  ASSERT_EQ(known.all().size(), 2U);
  EXPECT_EQ(known.all()[1].factor, 10);
}

TEST(Registry, ADuplicateNameIsRefusedInAnySpelling) {
  Registry<Thing> known = things();
  expect_says(refusal([&] { known.add({"double", 3}); }), {"thing", "'double'", "exists already"});
  expect_says(refusal([&] { known.add({"ten-fold", 3}); }), {"'ten-fold'"});
  EXPECT_EQ(known.names().size(), 2U);
  EXPECT_THROW(Registry<Thing>("thing", {{"a", 1}, {"a", 2}}), InvalidConfig);
}

TEST(Registry, AnUnknownNameIsRefusedWithTheNearest) {
  expect_says(refusal([] { things().make("duble:value=4", times); }),
              {"unknown thing 'duble'", "did you mean 'double'", "ten_fold"});
}

TEST(Registry, AnOptionThatTheEntryDidNotReadIsRefused) {
  expect_says(refusal([] { things().make("double:valu=4", times); }),
              {"double", "unknown option 'valu'", "did you mean 'value'"});
  expect_says(refusal([] { things().make("double:value=4,more", times); }), {"'more'"});
}

TEST(Registry, ACopyIsAValueOfItsOwn) {
  const Registry<Thing> original = things();
  Registry<Thing> copy = original;
  copy.add({"triple", 3});
  EXPECT_EQ(copy.make("triple:value=5", times), 15);
  EXPECT_EQ(original.names().size(), 2U);
  EXPECT_THROW(original.make("triple", times), InvalidConfig);
}

TEST(Text, OfOthersIsShownWithoutWhatTerminalsObey) {
  EXPECT_EQ(shown("job 7, \xc3\xa4 \xe2\x82\xac \xf0\x9f\x9a\x80"),
            "job 7, \xc3\xa4 \xe2\x82\xac \xf0\x9f\x9a\x80");
  EXPECT_EQ(shown(std::string("\x1b[31m\r\n\0\x7f", 9)), "\\x1b[31m\\x0d\\x0a\\x00\\x7f");
  EXPECT_EQ(shown("\xc2\x9b"
                  "1A"),
            "\\xc2\\x9b1A")
      << "a control sequence in one character";
  EXPECT_EQ(shown("\xe2\x80\xaegpj"), "\\xe2\\x80\\xaegpj") << "from right to left";
}

TEST(Text, ThatIsNoUtf8IsShownByItsBytes) {
  EXPECT_EQ(shown("a\xff"
                  "b"),
            "a\\xff"
            "b");
  EXPECT_EQ(shown("\xe2\x82"), "\\xe2\\x82") << "cut short";
  EXPECT_EQ(shown("\xc0\xaf"), "\\xc0\\xaf") << "longer than needed";
  EXPECT_EQ(shown("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half a pair";
  EXPECT_EQ(shown("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond the last one";
}

TEST(Text, ThatIsShownTwiceIsTheSame) {
  const std::string once = shown("\x1b\xff\\x1b");
  EXPECT_EQ(shown(once), once);
}

}  // namespace
}  // namespace tacit
