// The cost of a new field: its member and its line in fields(). Wire, JSON, CSV, command line,
// difference and limits then include it without further code.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <memory>

#include "app/protocol/protocol_version.h"
#include "app/protocol/wire_fields.h"
#include "engine/model/leaves.h"
#include "profiling/export/csv.h"
#include "tests/unit/protocol/sample_schema.h"

namespace app {
namespace {

using google::protobuf::Message;
using ::testing::HasSubstr;

enum class Mode { Slow, Quick };
constexpr auto enum_names(Mode) { return std::to_array<std::string_view>({"slow", "quick"}); }

struct Sample {
  int rounds = 3;
  Mode added = Mode::Slow;  // the field that is added
  int margin = 0;           // and another, with limits
  static constexpr auto fields() {
    return std::array{engine::field<&Sample::rounds>(), engine::field<&Sample::added>(),
                      engine::field<&Sample::margin>({.low = -2, .high = 2})};
  }
};

namespace before {
/// As it was.
struct Sample {
  int rounds = 3;
  Mode added = Mode::Slow;
  static constexpr auto fields() { return engine::fields<&Sample::rounds, &Sample::added>(); }
};
}  // namespace before
namespace moved {
struct Sample {
  int rounds = 3;
  Mode added = Mode::Slow;
  static constexpr auto fields() { return engine::fields<&Sample::added, &Sample::rounds>(); }
};
}  // namespace moved

constexpr const engine::Type& kSample = engine::kType<Sample>;

TEST(AddedField, IsSentAndPrintedAsJson) {
  testing::SampleSchema schema(kSample);
  const Sample sent{.rounds = 5, .added = Mode::Quick, .margin = -1};
  const std::unique_ptr<Message> out = schema.make("Sample");
  write_fields(kSample, &sent, *out);
  const std::unique_ptr<Message> in = schema.make("Sample");
  ASSERT_TRUE(in->ParseFromString(out->SerializeAsString()));
  Sample got;
  ASSERT_TRUE(read_fields(kSample, &got, *in).ok());
  EXPECT_EQ(got.added, Mode::Quick);
  EXPECT_EQ(got.margin, -1);
  std::string json;
  ASSERT_TRUE(google::protobuf::util::MessageToJsonString(*in, &json).ok());
  EXPECT_THAT(json, HasSubstr(R"("added":"MODE_QUICK")"));
  const auto* added = in->GetDescriptor()->FindFieldByName("added");
  in->GetReflection()->SetEnumValue(in.get(), added, 7);
  const engine::Status unknown = read_fields(kSample, &got, *in);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().message, "added is 7, which this version does not know");
}

TEST(AddedField, IsAnotherVersionOfTheProtocol) {
  const auto version = [](const engine::Type& type) {
    return version_of(*testing::SampleSchema(type).make("Sample")->GetDescriptor());
  };
  EXPECT_EQ(version(kSample), version(kSample));
  EXPECT_NE(version(kSample), version(engine::kType<before::Sample>));
  EXPECT_NE(version(engine::kType<moved::Sample>), version(engine::kType<before::Sample>));
}

TEST(AddedField, HasItsLimitItsTextAndItsColumn) {
  EXPECT_EQ(engine::validate(Sample{.margin = 3}).error().message,
            "margin is 3; it must be between -2 and 2");
  Sample sample;
  EXPECT_TRUE(engine::set_leaf(kSample, &sample, "added", "quick"));
  EXPECT_NE(engine::leaf_texts(sample).at("added"), engine::leaf_texts(Sample()).at("added"));
  EXPECT_FALSE(engine::equal_fields(sample, Sample()));
  const profiling::FieldColumns fields(kSample);
  std::vector<profiling::Column> columns;
  fields.add_columns(columns);
  profiling::Row row;
  fields.add_cells(row.cells, &sample);
  EXPECT_EQ(profiling::csv_text(profiling::table_of("t", columns, {row})),
            "rounds,added,margin\r\n3,quick,0\r\n");
}

}  // namespace
}  // namespace app
