// Files of requests, also those that earlier versions wrote.
#include "app/protocol/request_files.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "app/protocol/convert.h"
#include "engine/input/value_json.h"
#include "engine/model/leaves.h"

namespace app {
namespace {

using ::testing::HasSubstr;

/// As versions before JSON had the command line's names wrote it: Protobuf's JSON form, with a word
/// or more before the names of enumerators and with 64-bit integers as texts.
std::string earlier_json(const engine::RunRequest& request) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string text;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(to_wire(request), &text, options).ok());
  return text;
}

TEST(RequestFiles, RequestsOfEarlierVersionsAreRead) {
  for (const engine::Leaf& leaf : engine::leaves_of(engine::kType<engine::RunRequest>)) {
    if (leaf.type.kind != engine::Kind::Enum) continue;
    for (const engine::EnumName& name : leaf.type.names) {
      engine::RunRequest request;
      request.seed = 0xFFFFFFFFFFFFFFFFU;
      ASSERT_TRUE(
          engine::set_leaf(engine::kType<engine::RunRequest>, &request, leaf.path, name.name));
      if (!engine::validate(request).ok()) continue;  // needs another field as well
      const std::string text = earlier_json(request);
      const auto again = engine::request_from_json(text);
      ASSERT_TRUE(again.ok()) << again.error().message << "\n" << text;
      EXPECT_EQ(again.value(), request) << leaf.path << " " << name.name << "\n" << text;
    }
  }
}

TEST(RequestFiles, ARequestAsTheFirstVersionWroteItIsRead) {
  const auto request = engine::request_from_json(
      R"({"shape": {"num_experts": 4, "tokens": "512", "n": "256", "k": "128"}, "routing": {"distribution": "ROUTING_ZIPF"},
          "recipe": {"scaling": "FP8_BLOCK", "activation_format": "E5M2"}, "backend": "CPU_REFERENCE",
          "launch": {"kind": "EAGER"}, "seed": "18446744073709551615"})");
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request.value().shape.rows, 512);
  EXPECT_EQ(request.value().routing.distribution, engine::RoutingDistribution::Zipf);
  EXPECT_EQ(request.value().recipe.scaling, engine::Scaling::Block);
  EXPECT_EQ(request.value().recipe.activation_format, engine::Fp8Format::E5m2);
  EXPECT_EQ(request.value().backend, engine::GemmBackend::CpuReference);
  EXPECT_EQ(request.value().seed, 0xFFFFFFFFFFFFFFFFU);
}

TEST(RequestFiles, ALogHasOneRequestPerLineWithItsCaption) {
  const auto log = parse_request_log(
      "{\"seed\": 7, \"caption\": \"First\"}\n\n  \r\n{\"recipe\": {\"scaling\": \"bf16\"}}", "a");
  ASSERT_TRUE(log.ok()) << log.error().message;
  ASSERT_EQ(log.value().size(), 2U);
  EXPECT_EQ(log.value()[0].caption, "First");
  EXPECT_EQ(log.value()[0].request.seed, 7U);
  EXPECT_EQ(log.value()[1].caption, "");
  EXPECT_EQ(log.value()[1].request.recipe.scaling, engine::Scaling::None);
}

TEST(RequestFiles, AnErrorOfALogNamesItsLine) {
  const auto log = parse_request_log("{}\n{\"sead\": 7}\n", "requests.jsonl");
  ASSERT_FALSE(log.ok());
  EXPECT_THAT(log.error().message, HasSubstr("requests.jsonl line 2: the document has no field"));
  EXPECT_THAT(log.error().message, HasSubstr("did you mean 'seed'?"));
  const auto empty = parse_request_log("\n", "requests.jsonl");
  ASSERT_FALSE(empty.ok());
  EXPECT_THAT(empty.error().message, HasSubstr("holds no request"));
}

engine::Result<std::vector<LoggedRequest>> read_log(const std::string& text) {
  const std::string path = ::testing::TempDir() + "log." + std::to_string(::getpid()) + ".jsonl";
  std::ofstream(path, std::ios::binary) << text;
  auto log = read_request_log(path);
  std::filesystem::remove(path);
  return log;
}

TEST(RequestFiles, ALogIsReadLineByLine) {
  std::string text;
  for (int i = 0; i < 9000; ++i)
    text += fmt::format("{{\"seed\": {}}}{}\n", i, std::string(60, ' '));
  text += "{\"seed\": 9000}";
  const auto log = read_log(text);
  ASSERT_TRUE(log.ok()) << log.error().message;
  ASSERT_EQ(log.value().size(), 9001U);
  for (std::size_t i = 0; i < 9001; ++i) ASSERT_EQ(log.value()[i].request.seed, i);
}

TEST(RequestFiles, ALogHasALimitOfRequestsAndOfOneRequest) {
  std::string text;
  for (std::size_t i = 0; i < 1'000'000; ++i) text += "{}\n";
  const auto many = read_log(text);
  ASSERT_FALSE(many.ok());
  EXPECT_THAT(many.error().message,
              HasSubstr("line 10001: a request log has at most 10000 requests: divide it"));
  const auto wide = read_log("{}\n{" + std::string(kMaxLoggedRequestBytes, ' ') + "}\n");
  ASSERT_FALSE(wide.ok());
  EXPECT_THAT(wide.error().message, HasSubstr("line 2: it has more than 1048576 bytes"));
  const auto endless = read_log(std::string(kMaxRequestFileBytes + 1, '\n'));
  ASSERT_FALSE(endless.ok());
  EXPECT_THAT(endless.error().message, HasSubstr("has more than 67108864 bytes"));
}

}  // namespace
}  // namespace app
