// The cost of a new field: its member, its line in fields(), its line in the message. Wire, JSON,
// CSV, command line, difference and limits then include it without further code.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <memory>

#include "app/protocol/wire_fields.h"
#include "engine/model/leaves.h"
#include "profiling/export/csv_table.h"
#include "tests/unit/protocol/wire_mismatches.h"

namespace app {
namespace {

using google::protobuf::Message;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

/// The message as in its .proto: one line per field, `lines` of them.
class SampleMessage {
 public:
  explicit SampleMessage(int lines) {
    google::protobuf::FileDescriptorProto file;
    file.set_name("sample.proto");
    file.set_syntax("proto3");
    auto& mode = *file.add_enum_type();
    mode.set_name("Mode");
    for (const auto& [number, name] : {std::pair{0, "MODE_SLOW"}, std::pair{1, "MODE_QUICK"}}) {
      auto& value = *mode.add_value();
      value.set_name(name);
      value.set_number(number);
    }
    auto& message = *file.add_message_type();
    message.set_name("Sample");
    for (const char* name : {"rounds", "added", "margin"}) {
      if (message.field_size() == lines) break;
      auto& field = *message.add_field();
      field.set_name(name);
      field.set_number(message.field_size());
      field.set_label(google::protobuf::FieldDescriptorProto::LABEL_OPTIONAL);
      field.set_type(std::string_view(name) == "added"
                         ? google::protobuf::FieldDescriptorProto::TYPE_ENUM
                         : google::protobuf::FieldDescriptorProto::TYPE_INT32);
      if (std::string_view(name) == "added") field.set_type_name("Mode");
    }
    descriptor_ = pool_.BuildFile(file)->message_type(0);
  }
  const google::protobuf::Descriptor& descriptor() const { return *descriptor_; }
  std::unique_ptr<Message> make() {
    return std::unique_ptr<Message>(factory_.GetPrototype(descriptor_)->New());
  }

 private:
  google::protobuf::DescriptorPool pool_;
  google::protobuf::DynamicMessageFactory factory_;
  const google::protobuf::Descriptor* descriptor_ = nullptr;
};

constexpr const engine::Type& kSample = engine::kType<Sample>;

TEST(AddedField, IsReportedMissingUntilTheWireHasIt) {
  EXPECT_THAT(wire_mismatches(kSample, SampleMessage(1).descriptor()),
              ::testing::ElementsAre("Sample.added has no field on the wire",
                                     "Sample.margin has no field on the wire"));
  EXPECT_THAT(wire_mismatches(kSample, SampleMessage(3).descriptor()), IsEmpty());
}

TEST(AddedField, IsSentAndPrintedAsJson) {
  static SampleMessage message(3);  // converted descriptors must stay alive
  const Sample sent{.rounds = 5, .added = Mode::Quick, .margin = -1};
  const std::unique_ptr<Message> out = message.make();
  write_fields(kSample, &sent, *out);
  const std::unique_ptr<Message> in = message.make();
  ASSERT_TRUE(in->ParseFromString(out->SerializeAsString()));
  Sample got;
  ASSERT_TRUE(read_fields(kSample, &got, *in).ok());
  EXPECT_EQ(got.added, Mode::Quick);
  EXPECT_EQ(got.margin, -1);
  std::string json;
  ASSERT_TRUE(google::protobuf::util::MessageToJsonString(*in, &json).ok());
  EXPECT_THAT(json, HasSubstr(R"("added":"MODE_QUICK")"));
  const auto* added = message.descriptor().FindFieldByName("added");
  in->GetReflection()->SetEnumValue(in.get(), added, 7);
  const engine::Status unknown = read_fields(kSample, &got, *in);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().message, "added is 7, which this version does not know");
}

TEST(AddedField, HasItsLimitItsTextAndItsColumn) {
  EXPECT_EQ(engine::validate(Sample{.margin = 3}).error().message,
            "margin is 3; it must be between -2 and 2");
  Sample sample;
  EXPECT_TRUE(engine::set_leaf(kSample, &sample, "added", "quick"));
  EXPECT_NE(engine::leaf_texts(sample).at("added"), engine::leaf_texts(Sample()).at("added"));
  EXPECT_FALSE(engine::equal_fields(sample, Sample()));
  const profiling::CsvColumns columns(kSample);
  EXPECT_EQ(columns.header(), "rounds,added,margin");
  EXPECT_THAT(columns.cells(&sample), ::testing::ElementsAre("3", "quick", "0"));
}

}  // namespace
}  // namespace app
