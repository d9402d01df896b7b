// Messages of the agent, and its command line: what is said is heard, whatever bytes it has.
#include "app/attach/attach_stream.h"

#include <gmock/gmock.h>

#include "app/attach/agent_words.h"

namespace app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(AttachStream, MessagesArriveInAnyPieces) {
  const std::string text = encode(AttachKind::Started, "12 /folder") +
                           encode(AttachKind::Output, std::string(100'000, 'x')) +
                           encode(AttachKind::Ended, "");
  EXPECT_LT(text.size(), 1000U) << "long bodies are compressed";
  AttachDecoder decoder;
  std::vector<AttachMessage> heard;
  for (const char byte : text) {
    decoder.append({&byte, 1});
    auto message = decoder.next();
    ASSERT_TRUE(message.ok()) << message.error().message;
    if (message.value()) heard.push_back(*std::move(message).value());
  }
  ASSERT_EQ(heard.size(), 3U);
  EXPECT_EQ(heard[0].kind, AttachKind::Started);
  EXPECT_EQ(heard[0].body, "12 /folder");
  EXPECT_EQ(heard[1].body, std::string(100'000, 'x'));
  EXPECT_EQ(heard[2].kind, AttachKind::Ended);
}

TEST(AttachStream, WhatMakesNoSenseIsRefused) {
  const auto refusal = [](const std::string& bytes) {
    AttachDecoder decoder;
    decoder.append(bytes);
    const auto message = decoder.next();
    return message.ok() ? std::string() : message.error().message;
  };
  EXPECT_THAT(refusal("Welcome to this machine"), HasSubstr("it is no message"));
  std::string unknown = encode(AttachKind::Ended, "x");
  unknown[4] = 99;
  EXPECT_THAT(refusal(unknown), HasSubstr("kind 99"));
  std::string large = encode(AttachKind::Output, "x");
  large[11] = 127;  // the length's highest byte
  EXPECT_THAT(refusal(large), HasSubstr("a message of kind 3"));
  std::string damaged = encode(AttachKind::Output, std::string(100'000, 'x'));
  damaged[17] = static_cast<char>(damaged[17] ^ 1);
  EXPECT_THAT(refusal(damaged), HasSubstr("cannot be read"));
  EXPECT_FALSE(spool_piece("no zero byte"));
  EXPECT_FALSE(spool_piece(std::string_view("a.spool\0short", 13)));
}

TEST(AgentWords, TheOrderArrivesAsItWasGiven) {
  AgentOrder order{.program = {.command = {"python", "-c", "", "--", "[1,2]", "a b'c\"=\n"},
                               .only = "train.py",
                               .rank = 3,
                               .compare_memory = true,
                               .markers = true,
                               .spool_bytes = 5,
                               .folder = {},
                               .working_folder = "/a folder/=x"},
                   .goes_on = true};
  const auto heard = agent_order(agent_words(order));
  ASSERT_TRUE(heard.ok()) << heard.error().message;
  EXPECT_EQ(heard.value().program.command, order.program.command);
  EXPECT_EQ(heard.value().program.only, "train.py");
  EXPECT_EQ(heard.value().program.rank, 3);
  EXPECT_EQ(heard.value().program.spool_bytes, 5U);
  EXPECT_EQ(heard.value().program.working_folder, "/a folder/=x");
  EXPECT_TRUE(heard.value().goes_on);
  EXPECT_TRUE(heard.value().program.compare_memory);
  EXPECT_TRUE(heard.value().program.markers);
  EXPECT_FALSE(agent_order({"rank=x", "--", "true"}).ok());
  EXPECT_FALSE(agent_order({"folder=/", "--", "true"}).ok());
  EXPECT_THAT(agent_order({}).error().message, HasSubstr("not meant to be run by hand"));
}

}  // namespace
}  // namespace app
