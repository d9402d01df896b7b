// Frames from an untrusted peer: every malformed one ends in an error message, none in a crash or a
// large allocation.
#include "app/protocol/framing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <random>
#include <thread>

#include "app/protocol/descriptor.h"

namespace app {
namespace {

using ::testing::HasSubstr;

wire::Frame log_frame(const std::string& text) {
  wire::Frame frame;
  frame.mutable_inspect_file()->set_path(text);
  return frame;
}

std::string encoded(const wire::Frame& frame) {
  engine::Result<std::string> bytes = encode_frame(frame);
  EXPECT_TRUE(bytes.ok());
  return std::move(bytes).value();
}

std::string framed(const std::string& body) {
  std::string bytes = "XSC1";
  for (int shift = 0; shift < 32; shift += 8) {
    bytes += static_cast<char>(body.size() >> shift & 0xFF);
  }
  return bytes + body;
}

/// The decoder's verdict on these bytes: "frame", "more", or its error.
std::string verdict(const std::string& bytes) {
  FrameDecoder decoder;
  decoder.append(bytes);
  const engine::Result<std::optional<wire::Frame>> frame = decoder.next();
  if (!frame.ok()) return frame.error().message;
  return frame.value() ? "frame" : "more";
}

TEST(Framing, ManyFramesInChunksOfAnySize) {
  std::string stream;
  std::vector<std::string> texts;
  std::mt19937 random(5);
  for (int i = 0; i < 200; ++i) {
    texts.push_back(std::string(random() % 3000, static_cast<char>('a' + i % 26)));
    stream += encoded(log_frame(texts.back()));
  }
  FrameDecoder decoder;
  std::vector<std::string> got;
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t count = std::min<std::size_t>(1 + random() % 5000, stream.size() - at);
    decoder.append(std::string_view(stream).substr(at, count));
    at += count;
    while (true) {
      engine::Result<std::optional<wire::Frame>> frame = decoder.next();
      ASSERT_TRUE(frame.ok()) << frame.error().message;
      if (!frame.value()) break;
      got.push_back(frame.value()->inspect_file().path());
    }
  }
  EXPECT_EQ(got, texts);
  EXPECT_TRUE(decoder.at_end().ok());
}

TEST(Framing, BadMagicIsSeenAtItsFirstByte) {
  EXPECT_THAT(verdict("Y"), HasSubstr("must start with \"XSC1\""));
  EXPECT_THAT(verdict("XSC2"), HasSubstr("\"XSC2\""));
  EXPECT_THAT(verdict(std::string("\x01\xFF", 2)), HasSubstr("\\u0001\\xff"));
  EXPECT_EQ(verdict("XS"), "more");
}

TEST(Framing, TooLongNamesValueAndLimit) {
  const std::string header("XSC1\x01\x00\x00\x10", 8);  // one byte above 256 MiB
  EXPECT_THAT(verdict(header),
              AllOf(HasSubstr("268435457 bytes is too long"), HasSubstr("268435456")));
  EXPECT_THAT(verdict(std::string("XSC1\xFF\xFF\xFF\xFF", 8)), HasSubstr("4294967295"));
  EXPECT_EQ(verdict(std::string("XSC1\x00\x00\x00\x10", 8)), "more");
}

TEST(Framing, UnparseableAndUnknownBodiesAreRefused) {
  EXPECT_THAT(verdict(framed("\xFF\xFF\xFF\xFF")), HasSubstr("4 bytes of a frame are not"));
  EXPECT_THAT(verdict(framed("")), HasSubstr("no body known to this version"));
  // Field 200, length-delimited, empty: what a later protocol might send.
  EXPECT_THAT(verdict(framed(std::string("\xC2\x0C\x00", 3))), HasSubstr("no body"));
}

TEST(Framing, InvalidUtf8IsRefusedInOurWordsAlone) {
  ::testing::internal::CaptureStderr();
  // Protobuf writes such a text, with a complaint of its own, and then does not read it.
  const std::string said = verdict(encoded(log_frame("caf\xE9.npy")));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(said, HasSubstr("UTF-8"));
}

TEST(Framing, AFrameThatWouldExhaustMemoryIsRefusedBeforeItIsRead) {
  // A greeting with empty backends: two bytes each here, hundreds in memory.
  std::string greeting;
  for (int i = 0; i < 1'000'000; ++i) greeting += std::string("\x22\x00", 2);
  wire::Frame frame;
  ASSERT_TRUE(frame.mutable_hello_reply()->mutable_worker()->ParseFromString(greeting));
  FrameDecoder decoder;
  decoder.set_limit(4U << 20);
  decoder.append(encoded(frame));
  const engine::Result<std::optional<wire::Frame>> read = decoder.next();
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().message, HasSubstr("MiB of memory; the limit is 32"));
}

TEST(Framing, AGroupDoesNotHideWhatFollows) {
  // A group that no message has does not stop the parser, so it must not stop the weighing.
  std::string body = "\xA3\x06\xA4\x06";
  wire::Frame frame;
  for (int i = 0; i < 1'000'000; ++i) frame.mutable_hello_reply()->mutable_worker()->add_backends();
  body += frame.SerializeAsString();
  ASSERT_TRUE(frame.ParseFromString(body));
  FrameDecoder decoder;
  decoder.set_limit(4U << 20);
  decoder.append(framed(body));
  const engine::Result<std::optional<wire::Frame>> read = decoder.next();
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().message, HasSubstr("MiB of memory; the limit is 32"));
}

TEST(Framing, NoFrameTakesMoreThanTheMemoryOfOne) {
  // Numbers of one byte each here, and of sixteen while a list of them grows.
  wire::Frame frame;
  auto& starts = *frame.mutable_answer()->mutable_activity()->mutable_records()->mutable_start_ns();
  starts.Resize(40'000'000, 0);
  const std::string said = verdict(encoded(frame));
  EXPECT_THAT(said, HasSubstr("a frame of 40000"));
  EXPECT_THAT(said, HasSubstr("MiB of memory; the limit is 512"));
}

TEST(Framing, FullFramesOfARunAreFarFromTheLimitOnMemory) {
  wire::Frame frame;
  for (int i = 0; i < 65536; ++i) {
    wire::Activity& chunk = *frame.mutable_answer()->mutable_activity();
    wire::ActivityRecordColumns& records = *chunk.mutable_records();
    records.add_start_ns(i);
    records.add_end_ns(i);
    records.add_name(0);
    records.add_iteration(-1);
    records.add_expert(-1);
    chunk.add_names("a kernel");
  }
  EXPECT_EQ(verdict(encoded(frame)), "frame");
}

TEST(Framing, RandomBodiesAreAcceptedOrRefused) {
  std::mt19937 random(11);
  for (int i = 0; i < 2000; ++i) {
    std::string body(random() % 64, '\0');
    for (char& c : body) c = static_cast<char>(random());
    // The length is right, so "more" would be a reader that waits forever.
    EXPECT_NE(verdict(framed(body)), "more");
  }
}

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    read_end.reset(ends[0]);
    write_end.reset(ends[1]);
  }
};

TEST(Framing, AFrameLargerThanThePipeArrivesWhole) {
  Pipe pipe;
  const std::string text(3'000'000, 'x');
  std::thread writer([&] {
    EXPECT_TRUE(write_all(pipe.write_end.get(), encoded(log_frame(text))).ok());
    pipe.write_end.reset();
  });
  FrameDecoder decoder;
  engine::Result<std::optional<wire::Frame>> frame = read_frame(pipe.read_end.get(), decoder);
  ASSERT_TRUE(frame.ok() && frame.value());
  EXPECT_EQ(frame.value()->inspect_file().path(), text);
  frame = read_frame(pipe.read_end.get(), decoder);
  ASSERT_TRUE(frame.ok());
  EXPECT_FALSE(frame.value().has_value());
  writer.join();
}

TEST(Framing, ATruncatedStreamSaysWhere) {
  const std::string bytes = encoded(log_frame("twelve bytes"));
  for (const auto& [keep, sentence] :
       {std::pair<std::size_t, const char*>{3, "ended 3 bytes into a frame's header"},
        std::pair<std::size_t, const char*>{10, "ended after 2 of a frame's"}}) {
    Pipe pipe;
    ASSERT_TRUE(write_all(pipe.write_end.get(), bytes.substr(0, keep)).ok());
    pipe.write_end.reset();
    FrameDecoder decoder;
    const engine::Result<std::optional<wire::Frame>> frame =
        read_frame(pipe.read_end.get(), decoder);
    ASSERT_FALSE(frame.ok());
    EXPECT_THAT(frame.error().message, HasSubstr(sentence));
  }
}

/// Texts that zstd shortens, and a decoder that takes them.
wire::Frame long_frame() { return log_frame(std::string(100'000, 'x') + "end"); }

std::string compressed_verdict(const std::string& bytes, std::size_t limit = kMaxFrameBytes) {
  FrameDecoder decoder;
  decoder.accept_compressed();
  decoder.set_limit(limit);
  decoder.append(bytes);
  const engine::Result<std::optional<wire::Frame>> frame = decoder.next();
  if (!frame.ok()) return frame.error().message;
  return frame.value() ? frame.value()->inspect_file().path() : "more";
}

TEST(CompressedFraming, ALargeFrameIsShorterAndReadWhole) {
  const std::string plain = encoded(long_frame());
  const std::string packed = encode_frame(long_frame(), FrameCompression::On).value();
  EXPECT_LT(packed.size(), plain.size() / 10);
  EXPECT_EQ(compressed_verdict(packed), long_frame().inspect_file().path());
  EXPECT_EQ(compressed_verdict(plain), long_frame().inspect_file().path()) << "both kinds are read";
  for (std::size_t cut = 0; cut < packed.size(); ++cut) {
    EXPECT_EQ(compressed_verdict(packed.substr(0, cut)), "more");
  }
}

TEST(CompressedFraming, ASmallFrameStaysAsItIs) {
  EXPECT_EQ(encode_frame(log_frame("short"), FrameCompression::On).value(),
            encoded(log_frame("short")));
}

TEST(CompressedFraming, IsRefusedFromAPeerThatWasNotToldTo) {
  EXPECT_THAT(verdict(encode_frame(long_frame(), FrameCompression::On).value()),
              HasSubstr("must start with"));
}

TEST(CompressedFraming, AFrameThatGrowsBeyondTheLimitIsRefusedBeforeItDoes) {
  const std::string packed = encode_frame(long_frame(), FrameCompression::On).value();
  EXPECT_THAT(compressed_verdict(packed, 50'000), HasSubstr("is longer than 50000"));
}

TEST(CompressedFraming, WhatIsNoZstdFrameIsRefused) {
  std::string packed = encode_frame(long_frame(), FrameCompression::On).value();
  for (std::size_t at = kFrameHeaderBytes; at < packed.size(); ++at) {
    std::string changed = packed;
    changed[at] = static_cast<char>(changed[at] ^ 0x55);
    const std::string said = compressed_verdict(changed);  // ends in an error or in other contents
    EXPECT_NE(said, "more");
  }
  EXPECT_THAT(compressed_verdict(std::string("XSCZ\x04\x00\x00\x00none", 12)),
              HasSubstr("does not say how long"));
}

}  // namespace
}  // namespace app
