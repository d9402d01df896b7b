// The messages of described types follow from their descriptions.
#include "app/protocol/wire_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <iterator>
#include <optional>
#include <variant>
#include <vector>

#include "app/protocol/wire_fields.h"
#include "engine/model/values.h"
#include "tests/unit/protocol/sample_schema.h"

namespace app::wire_schema_test {

using ::testing::HasSubstr;

enum class Mode : std::uint8_t { Slow, QuickFire };
constexpr auto enum_names(Mode) { return std::to_array<std::string_view>({"slow", "quick, 2x"}); }
enum class Late { One = 1 };
constexpr auto enum_names(Late) {
  return std::to_array<std::pair<Late, std::string_view>>({{Late::One, "one"}});
}

struct Point {
  std::int16_t x = 0;
  Mode mode = Mode::Slow;
  bool operator==(const Point&) const = default;
  static constexpr auto fields() { return engine::fields<&Point::x, &Point::mode>(); }
};
struct Note {
  std::string text = "none";
  bool operator==(const Note&) const = default;
  static constexpr auto fields() { return engine::fields<&Note::text>(); }
};
template <class Held>
struct Box {
  Held held = {};
  bool operator==(const Box&) const = default;
  static constexpr auto fields() { return engine::fields<&Box::held>(); }
};

using Shape = std::variant<std::monostate, Point, Note>;

}  // namespace app::wire_schema_test

template <>
struct engine::ChoiceNames<app::wire_schema_test::Shape> {
  static constexpr std::string_view name = "app::wire_schema_test::Shape";
  static constexpr auto names = std::to_array<std::string_view>({"", "point", "note"});
};

namespace app::wire_schema_test {

struct Everything {
  bool on = true;
  int count = 3;
  std::int64_t bytes = 5;
  std::uint8_t small = 7;
  std::uint64_t id = 9;
  float share = 0.5F;
  double time = 1.5;
  Mode mode = Mode::QuickFire;
  std::string words = "text";
  std::vector<std::int32_t> numbers;
  std::vector<Mode> board;
  std::vector<std::string> names;
  std::vector<Point> points;
  std::vector<Point> table;
  std::array<double, 2> pair = {1, 2};
  Shape shape;
  std::optional<int> maybe;
  std::optional<Note> note;
  Box<Point> box;
  bool operator==(const Everything&) const = default;
  static constexpr auto fields() {
    using E = Everything;
    using engine::field;
    return std::array{field<&E::on>(),     field<&E::count>({.low = 1, .high = 8}),
                      field<&E::bytes>(),  field<&E::small>(),
                      field<&E::id>(),     field<&E::share>({.unit = "%"}),
                      field<&E::time>(),   field<&E::mode>(),
                      field<&E::words>(),  field<&E::numbers>({.low = 0}),
                      field<&E::board>(),  field<&E::names>(),
                      field<&E::points>(), field<&E::table>({.columns = true}),
                      field<&E::pair>(),   field<&E::shape>(),
                      field<&E::maybe>(),  field<&E::note>(),
                      field<&E::box>()};
  }
};

template <class Record>
engine::Result<std::string> schema_of() {
  const engine::Type* const records[] = {&engine::kType<Record>};
  return wire_schema(records);
}

TEST(WireSchema, EveryKindOfMemberHasItsForm) {
  const engine::Result<std::string> schema = schema_of<Everything>();
  ASSERT_TRUE(schema.ok()) << schema.error().message;
  EXPECT_THAT(schema.value(), ::testing::EndsWith(R"(package expertscope.wire;

// app::wire_schema_test::Mode
enum Mode {
  MODE_SLOW = 0;
  MODE_QUICK_2X = 1;
}

// app::wire_schema_test::Point
message Point {
  optional sint32 x = 1;
  optional Mode mode = 2;
}

// app::wire_schema_test::Point
message PointColumns {
  repeated sint32 x = 1;
  repeated Mode mode = 2;
}

// app::wire_schema_test::Note
message Note {
  optional string text = 1;
}

// app::wire_schema_test::Shape
message Shape {
  oneof kind {
    Point point = 2;
    Note note = 3;
  }
}

// app::wire_schema_test::Box<app::wire_schema_test::Point>
message BoxOfPoint {
  Point held = 1;
}

// app::wire_schema_test::Everything
message Everything {
  optional bool on = 1;
  optional sint32 count = 2;  // an integer, between 1 and 8
  optional sint64 bytes = 3;
  optional uint32 small = 4;
  optional uint64 id = 5;
  optional float share = 6;  // a number of %
  optional double time = 7;
  optional Mode mode = 8;
  optional string words = 9;
  repeated sint32 numbers = 10;  // an integer, at least 0
  bytes board = 11;
  repeated string names = 12;
  repeated Point points = 13;
  PointColumns table = 14;
  repeated double pair = 15;
  Shape shape = 16;
  optional sint32 maybe = 17;
  Note note = 18;
  BoxOfPoint box = 19;
}
)"));
}

TEST(WireSchema, EveryKindOfMemberArrives) {
  const Everything sent{.on = false,
                        .count = -4,
                        .bytes = INT64_MIN,
                        .small = 0,
                        .id = ~std::uint64_t{0},
                        .share = -0.25F,
                        .time = 1e300,
                        .mode = Mode::Slow,
                        .words = "",
                        .numbers = {-1, 2},
                        .board = {Mode::QuickFire, Mode::Slow},
                        .names = {"a", ""},
                        .points = {{.x = -5, .mode = Mode::QuickFire}},
                        .table = {{.x = 1}, {.x = -32768, .mode = Mode::QuickFire}},
                        .pair = {3, 4},
                        .shape = Note{"x"},
                        .maybe = 0,
                        .note = Note{},
                        .box = {{.x = 6}}};
  testing::SampleSchema schema(engine::kType<Everything>);
  const auto out = schema.make("Everything");
  write_fields(engine::kType<Everything>, &sent, *out);
  const auto in = schema.make("Everything");
  ASSERT_TRUE(in->ParseFromString(out->SerializeAsString()));
  Everything got;
  const engine::Status read = read_fields(engine::kType<Everything>, &got, *in);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(got, sent);
}

template <class Record>
std::string refusal() {
  const engine::Result<std::string> schema = schema_of<Record>();
  return schema.ok() ? "none" : schema.error().message;
}

namespace other {
struct Point {
  int y = 0;
  static constexpr auto fields() { return engine::fields<&Point::y>(); }
};
struct Both {
  wire_schema_test::Point first;
  Point second;
  static constexpr auto fields() { return engine::fields<&Both::first, &Both::second>(); }
};
template <class Element>
struct Table {
  std::vector<Element> rows;
  static constexpr auto fields() {
    return std::array{engine::field<&Table::rows>({.columns = true})};
  }
};
}  // namespace other

TEST(WireSchema, WhatHasNoFormIsRefused) {
  EXPECT_THAT(refusal<other::Both>(), HasSubstr("would both be Point"));
  EXPECT_THAT(refusal<Box<std::vector<std::vector<int>>>>(),
              HasSubstr(">.held is a list of lists"));
  EXPECT_THAT(refusal<Box<std::optional<std::vector<int>>>>(),
              HasSubstr(">.held is an optional list"));
  EXPECT_THAT(refusal<Box<Late>>(), HasSubstr("must be 0"));
  EXPECT_THAT(refusal<other::Table<Note>>(), HasSubstr("Note.text is no number"));
  EXPECT_THAT(refusal<other::Table<int>>(), HasSubstr(">.rows is no list of records"));
}

TEST(WireSchema, TheCopyThatPeopleReadIsCurrent) {
  std::ifstream file(EXPERTSCOPE_SOURCE "/app/protocol/values.proto", std::ios::binary);
  const std::string copy{std::istreambuf_iterator<char>(file), {}};
  const engine::Result<std::string> schema = wire_schema();
  ASSERT_TRUE(schema.ok()) << schema.error().message;
  EXPECT_TRUE(copy == schema.value())
      << "fields() of a value type changed. Renew the copy of its messages: "
         "build/bin/print_wire_schema app/protocol/values.proto";
}

}  // namespace app::wire_schema_test
