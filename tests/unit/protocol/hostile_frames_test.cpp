// 1 MB of text in every string field of every message a worker can send: the text that is read is
// short and harmless, or the frame is refused with a short message.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/protocol/worker_frames.h"
#include "engine/model/text.h"
#include "tests/support/hostile_text.h"
#include "tests/unit/protocol/random_message.h"

namespace app {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using Path = std::vector<const FieldDescriptor*>;

/// The way to every string field below a type.
void find_texts(const Descriptor& type, Path& way, std::vector<Path>& found) {
  for (int i = 0; i < type.field_count(); ++i) {
    way.push_back(type.field(i));
    if (way.back()->type() == FieldDescriptor::TYPE_STRING) found.push_back(way);
    if (way.back()->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      find_texts(*way.back()->message_type(), way, found);
    }
    way.pop_back();
  }
}

void set_text(Message& frame, const Path& way, const std::string& text) {
  Message* message = &frame;
  for (const FieldDescriptor* field : way) {
    const auto& access = *message->GetReflection();
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      message = field->is_repeated() ? access.AddMessage(message, field)
                                     : access.MutableMessage(message, field);
    } else if (field->is_repeated()) {
      access.AddString(message, field, text);
    } else {
      access.SetString(message, field, text);
    }
  }
}

/// By a walk of its own: every text of the message, and how many there are.
int count_shown(const Message& message) {
  int texts = 0;
  std::vector<const FieldDescriptor*> fields;
  const auto& access = *message.GetReflection();
  access.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? access.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->type() == FieldDescriptor::TYPE_STRING) {
        const std::string text = field->is_repeated() ? access.GetRepeatedString(message, field, i)
                                                      : access.GetString(message, field);
        EXPECT_TRUE(engine::is_shown_text(text)) << field->full_name();
        ++texts;
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        texts += count_shown(field->is_repeated() ? access.GetRepeatedMessage(message, field, i)
                                                  : access.GetMessage(message, field));
      }
    }
  }
  return texts;
}

TEST(HostileFrames, EveryTextFieldAlone) {
  Path way;
  std::vector<Path> texts;
  find_texts(*wire::Frame::descriptor(), way, texts);
  ASSERT_GT(texts.size(), 100U);
  const std::string hostile = testing::hostile_text(1 << 20);
  for (const Path& one : texts) {
    wire::Frame frame;
    set_text(frame, one, hostile);
    wire::Frame shown = frame;
    show_texts(shown);
    EXPECT_EQ(count_shown(shown), 1) << one.back()->full_name();
    WorkerFrames frames;
    const auto arrival = frames.read(std::move(frame));
    if (!arrival.ok()) {
      EXPECT_LT(arrival.error().message.size(), 2 * engine::kMaxTextBytes);
      EXPECT_EQ(arrival.error().message.find('\x1b'), std::string::npos);
    }
  }
}

TEST(HostileFrames, EveryTextOfWholeMessages) {
  const std::string hostile = testing::hostile_text(20'000);
  int texts = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    wire::Frame frame;
    testing::RandomMessage(seed).fill(frame);
    testing::make_hostile(frame, hostile, "");
    show_texts(frame);
    texts += count_shown(frame);
  }
  EXPECT_GT(texts, 200);
}

}  // namespace
}  // namespace app
