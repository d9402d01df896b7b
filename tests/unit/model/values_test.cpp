// Values through their tables: which values limits refuse, how leaves are printed and parsed.
#include "engine/model/values.h"
#include "engine/model/leaves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/model/run_request.h"
#include "engine/model/run_result.h"

namespace engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

enum class Fruit : std::uint8_t { Apple, RedApple, Pear = 200 };
constexpr auto enum_names(Fruit) {
  return std::to_array<std::pair<Fruit, std::string_view>>(
      {{Fruit::Apple, "apple"}, {Fruit::RedApple, "red-apple"}, {Fruit::Pear, "pear"}});
}

struct Seed {
  int weight = 3;
  std::uint16_t count = 7;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{field<&Seed::weight>({.low = 1, .high = 9, .unit = "g"}),
                      field<&Seed::count>()};
  }
  Flaw flaw() const {
    return weight == 4 ? Flaw{"weight", "is 4; it brings bad luck", "use 5"} : Flaw();
  }
};

struct Tin {
  std::string label = "none";
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&Tin::label>();
  }
};

using Package = std::variant<std::monostate, Tin, Seed>;

}  // namespace

template <>
struct ChoiceNames<Package> {
  static constexpr std::string_view name = "Package";
  static constexpr std::array<std::string_view, 3> names = {"", "tin", "bag"};
};

namespace {

struct Basket {
  Fruit fruit = Fruit::Apple;
  double price = 0;
  float sweetness = std::numeric_limits<float>::quiet_NaN();
  std::vector<Seed> seeds = {};
  std::vector<double> sizes = {};
  std::array<int, 2> pair = {1, 2};
  Package package = {};
  std::optional<Seed> spare = {};
  template <int = 0>
  static constexpr auto fields() {
    return std::array{field<&Basket::fruit>(),
                      field<&Basket::price>({.low = 2, .high = 8, .allow_zero = true}),
                      field<&Basket::sweetness>(),
                      field<&Basket::seeds>({.most = 2}),
                      field<&Basket::sizes>({.low = 0}),
                      field<&Basket::pair>(),
                      field<&Basket::package>(),
                      field<&Basket::spare>()};
  }
};

std::string refusal(const Basket& basket) {
  const Status status = validate(basket);
  return status.ok() ? "accepted" : status.error().message;
}

TEST(Values, EveryLimitIsRefusedByPathValueAndLimit) {
  EXPECT_EQ(refusal({}), "accepted");
  EXPECT_EQ(refusal({.price = 8}), "accepted");
  EXPECT_EQ(refusal({.price = 1}), "price is 1; it must be between 2 and 8, or 0 for none");
  EXPECT_THAT(refusal({.price = std::nan("")}), HasSubstr("price is nan"));
  EXPECT_EQ(refusal({.seeds = {{}, {.weight = 12}}}),
            "seeds[1].weight is 12; it must be between 1 and 9");
  EXPECT_EQ(refusal({.seeds = {{}, {}, {}}}), "seeds has 3 entries; it takes at most 2");
  EXPECT_EQ(refusal({.sizes = {0, -1}}), "sizes[1] is -1; it must be finite and at least 0");
  EXPECT_THAT(refusal({.sizes = {std::numeric_limits<double>::infinity()}}), HasSubstr("inf"));
  EXPECT_EQ(refusal({.package = Seed{.weight = 0}}),
            "package.bag.weight is 0; it must be between 1 and 9");
  EXPECT_EQ(refusal({.spare = Seed{.weight = 4}}), "spare.weight is 4; it brings bad luck: use 5");
}

TEST(Values, ARefusalCarriesThePathOfItsField) {
  const auto field = [](const Basket& basket) { return validate(basket).error().field; };
  EXPECT_EQ(field({.price = 1}), "price");
  EXPECT_EQ(field({.seeds = {{}, {.weight = 12}}}), "seeds[1].weight");
  EXPECT_EQ(field({.seeds = {{}, {}, {}}}), "seeds");
  EXPECT_EQ(field({.sizes = {0, -1}}), "sizes[1]");
  EXPECT_EQ(field({.package = Seed{.weight = 0}}), "package.bag.weight");
  EXPECT_EQ(field({.spare = Seed{.weight = 4}}), "spare.weight") << "from the record's own flaw";
}

TEST(Values, AFlawCarriesItsRemedyApartFromWhatIsWrong) {
  const Flaw flaw = first_flaw(Basket{.spare = Seed{.weight = 4}});
  EXPECT_EQ(flaw.field, "spare.weight");
  EXPECT_EQ(flaw.says, "is 4; it brings bad luck");
  EXPECT_EQ(flaw.remedy, "use 5");
  EXPECT_TRUE(first_flaw(Basket()).empty());
}

TEST(Values, EqualityComparesFieldsAndTreatsNanAsEqual) {
  const Basket a{.seeds = {{.weight = 2}}, .package = Tin{"x"}, .spare = Seed{}};
  Basket b = a;
  EXPECT_TRUE(equal_fields(a, b));
  b.seeds[0].count = 8;
  EXPECT_FALSE(equal_fields(a, b));
  b = a;
  b.package = Tin{"y"};
  EXPECT_FALSE(equal_fields(a, b));
  b.package = std::monostate();
  EXPECT_FALSE(equal_fields(a, b));
  b = a;
  b.spare.reset();
  EXPECT_FALSE(equal_fields(a, b));
}

TEST(Values, LeavesHavePathsAndTexts) {
  const Basket basket{
      .fruit = Fruit::Pear, .price = 2.5, .seeds = {{.weight = 2}}, .sizes = {1, 0.5}};
  const LeafTexts texts = leaf_texts(basket);
  EXPECT_EQ(texts.at("fruit"), "pear");
  EXPECT_EQ(texts.at("price"), "2.5");
  EXPECT_EQ(texts.at("sizes"), "[1, 0.5]");
  EXPECT_EQ(texts.at("pair"), "[1, 2]");
  EXPECT_EQ(leaf_texts(Basket{.price = -0.0}).at("price"), "0");
  EXPECT_EQ(texts.at("seeds[0].weight"), "2");
  EXPECT_EQ(texts.count("package.tin.label"), 0U);
  std::vector<std::string> paths;
  for (const Leaf& leaf : leaves_of(kType<Basket>)) paths.push_back(leaf.path);
  EXPECT_THAT(
      paths, ElementsAre("fruit", "price", "sweetness", "sizes", "pair", "package.tin.label",
                         "package.bag.weight", "package.bag.count", "spare.weight", "spare.count"));
}

TEST(Values, TextIsReadWhereTheTypeCanHoldIt) {
  Basket basket;
  const auto set = [&basket](std::string_view path, std::string_view text) {
    return set_leaf(kType<Basket>, &basket, path, text);
  };
  EXPECT_TRUE(set("fruit", "PEAR"));
  EXPECT_EQ(basket.fruit, Fruit::Pear);
  EXPECT_TRUE(set("fruit", "FRUIT_RED_APPLE"));
  EXPECT_EQ(basket.fruit, Fruit::RedApple);
  EXPECT_TRUE(set("fruit", "apple")) << "the whole name comes before the end of another";
  EXPECT_EQ(basket.fruit, Fruit::Apple);
  EXPECT_TRUE(set("fruit", "red apple"));
  EXPECT_TRUE(set("fruit", "Red"));
  EXPECT_EQ(basket.fruit, Fruit::RedApple) << "by the words that only it begins with";
  EXPECT_FALSE(set("fruit", "re"));
  EXPECT_FALSE(set("fruit", "plum"));
  EXPECT_FALSE(set("fruit", ""));
  EXPECT_TRUE(set("price", "0.1"));
  EXPECT_EQ(basket.price, 0.1);
  EXPECT_FALSE(set("price", "0.1 "));
  EXPECT_TRUE(set("sweetness", "0.1"));
  EXPECT_EQ(basket.sweetness, 0.1F);
  EXPECT_TRUE(set("package.bag.count", "65535"));
  EXPECT_FALSE(set("package.bag.count", "65536"));
  EXPECT_FALSE(set("package.bag.count", "-1"));
  EXPECT_EQ(std::get<Seed>(basket.package).count, 65535);
  EXPECT_TRUE(set("package.tin.label", "left"));
  EXPECT_EQ(std::get<Tin>(basket.package).label, "left");
  EXPECT_TRUE(set("spare.weight", "5"));
  EXPECT_EQ(basket.spare->weight, 5);
  EXPECT_FALSE(set("package", "left"));
  EXPECT_FALSE(set("package.box.label", "left"));
  EXPECT_FALSE(set("nothing", "1"));
  EXPECT_FALSE(set("", "1"));
}

TEST(Values, HelpSaysWhatAFieldTakes) {
  const auto help = [](std::size_t field) {
    const Field& entry = kType<Seed>.fields[field];
    return expected_text(*entry.type, entry.rules);
  };
  EXPECT_EQ(help(0), "an integer of g, between 1 and 9");
  EXPECT_EQ(help(1), "an integer, between 0 and 65535") << "what its type can hold";
  EXPECT_EQ(expected_text(kType<std::uint64_t>, {}),
            "an integer, between 0 and 18446744073709551615");
  EXPECT_EQ(expected_text(kType<std::int64_t>, {}), "an integer");
  EXPECT_EQ(expected_text(kType<Fruit>, {}), "apple, red-apple, pear");
  EXPECT_EQ(name_of(Fruit::Pear), "pear");
  EXPECT_EQ(name_of(static_cast<Fruit>(9)), "unknown");
}

TEST(Values, AListIsNotReadAsItsLastName) {
  Fruit fruit = Fruit::Pear;
  EXPECT_FALSE(parse(kType<Fruit>, &fruit, "pear,apple"));
  EXPECT_EQ(fruit, Fruit::Pear);
  EXPECT_TRUE(parse(kType<Fruit>, &fruit, "FRUIT_APPLE"));
}

TEST(Values, ANearNameIsSuggested) {
  EXPECT_EQ(nearest_name(kType<Fruit>, "paer"), " (did you mean 'pear'?)");
  EXPECT_EQ(nearest_name(kType<Fruit>, "melon"), "");
  EXPECT_EQ(nearest_name(kType<int>, "1"), "");
}

/// All enumerator names of every nested type are complete and unique.
TEST(Values, EnumeratorNamesOfARequestAreUnique) {
  for (const Leaf& leaf : leaves_of(kType<RunRequest>)) {
    for (const EnumName& one : leaf.type.names) {
      EXPECT_FALSE(one.name.empty()) << leaf.path;
      for (const EnumName& other : leaf.type.names) {
        EXPECT_EQ(one.name == other.name, one.value == other.value) << leaf.path;
      }
    }
  }
}

}  // namespace
}  // namespace engine
