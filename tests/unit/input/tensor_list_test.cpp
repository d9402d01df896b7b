// Weights as one tensor per expert in one file: read as if they were one tensor, refused by the
// name of the expert that differs, offered as a whole in the tensor selection.
#include "engine/input/tensor_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/unit/input/temporary_file.h"

namespace engine {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

struct Member {
  std::string name;
  std::string dtype = "F32";
  std::int64_t rows = 16;
  std::int64_t columns = 16;
};

/// Every value is its position in the file's data.
std::string safetensors(const std::vector<Member>& members) {
  std::string json = "{";
  std::string data;
  float next = 0.0F;
  for (const Member& member : members) {
    const std::size_t begin = data.size();
    const std::size_t bytes =
        static_cast<std::size_t>(member.rows * member.columns) * (member.dtype == "F32" ? 4 : 2);
    while (data.size() < begin + bytes) {
      char raw[4];
      std::memcpy(raw, &next, 4);
      data.append(raw, 4);
      next += 1.0F;
    }
    json += (json.size() > 1 ? ",\"" : "\"") + member.name + "\":{\"dtype\":\"" + member.dtype +
            "\",\"shape\":[" + std::to_string(member.rows) + "," + std::to_string(member.columns) +
            "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(data.size()) +
            "]}";
  }
  json += "}";
  std::string size(8, '\0');
  const std::uint64_t length = json.size();
  std::memcpy(size.data(), &length, 8);
  return size + json + data;
}

RunRequest list_request(const std::string& path, int experts) {
  RunRequest request;
  request.shape = {.preset = "", .num_experts = experts, .rows = 4, .n = 16, .k = 16};
  request.weights = FileInput{.path = path, .tensor = "block.experts.{}.up.weight"};
  return request;
}

std::string expert(int number) { return "block.experts." + std::to_string(number) + ".up.weight"; }

TEST(TensorList, ReadsTheExpertsInOrder) {
  // Out of order and among other tensors; the name's first number is not the expert's.
  const TemporaryFile file("list.safetensors", safetensors({{.name = expert(2)},
                                                            {.name = "block.norm", .rows = 1},
                                                            {.name = expert(0)},
                                                            {.name = expert(1)}}));
  const auto source = open_source(list_request(file.path(), 3), OperandRole::Weights, 0);
  ASSERT_TRUE(source.ok()) << source.error().message;
  EXPECT_EQ(source.value()->rows(), 48);
  EXPECT_EQ(source.value()->columns(), 16);
  std::vector<float> rows(18 * 16);
  source.value()->read_f32(15, 18, rows);  // last row of expert 0, all of 1, first of 2
  EXPECT_EQ(rows[0], 256 + 16 + 15 * 16);
  EXPECT_EQ(rows[16], 512 + 16);
  EXPECT_EQ(rows[17 * 16], 0);
  EXPECT_EQ(rows[17 * 16 + 15], 15);
}

TEST(TensorList, NamesTheExpertThatDiffers) {
  struct Case {
    Member last;
    std::vector<const char*> words;
  };
  for (const Case& spoilt :
       {Case{{.name = expert(2), .dtype = "BF16"}, {"element type", "BF16", "F32", "expert 2"}},
        Case{{.name = expert(2), .rows = 32}, {"shape", "32", "expert 2", "expert 0"}},
        Case{{.name = expert(3)}, {"no tensor for expert 2 of 3"}}}) {
    const TemporaryFile file("bad.safetensors",
                             safetensors({{.name = expert(0)}, {.name = expert(1)}, spoilt.last}));
    const auto source = open_source(list_request(file.path(), 3), OperandRole::Weights, 0);
    ASSERT_FALSE(source.ok());
    EXPECT_THAT(source.error().message, HasSubstr("; "));
    for (const char* word : spoilt.words) {
      EXPECT_THAT(source.error().message, HasSubstr(word));
    }
  }
}

TEST(TensorList, EveryExpertMustHaveTheRequestsShape) {
  const TemporaryFile file("wide.safetensors", safetensors({{.name = expert(0), .columns = 32},
                                                            {.name = expert(1), .columns = 32}}));
  const auto source = open_source(list_request(file.path(), 2), OperandRole::Weights, 0);
  ASSERT_FALSE(source.ok());
  EXPECT_THAT(source.error().message,
              AllOf(HasSubstr("expert 0"), HasSubstr("32"), HasSubstr("k = 16")));
}

TEST(TensorList, IsListedWithThreeDimensionsOrTheReasonItIsUnusable) {
  const TemporaryFile file("offer.safetensors", safetensors({{.name = expert(0)},
                                                             {.name = expert(1)},
                                                             {.name = "a.0.w"},
                                                             {.name = "a.1.w", .rows = 8},
                                                             {.name = "b.1.w"},
                                                             {.name = "b.2.w"},
                                                             {.name = "c.00.w"},
                                                             {.name = "plain"}}));
  const auto entries = inspect_file(file.path());
  ASSERT_TRUE(entries.ok()) << entries.error().message;
  ASSERT_EQ(entries.value().size(), 10U);  // eight tensors, two lists
  const TensorEntry& uneven = entries.value()[8];
  EXPECT_EQ(uneven.name, "a.{}.w");
  EXPECT_FALSE(uneven.usable);
  EXPECT_THAT(uneven.reason, AllOf(HasSubstr("expert 1"), HasSubstr("shape")));
  const TensorEntry& list = entries.value()[9];
  EXPECT_EQ(list.name, "block.experts.{}.up.weight");
  EXPECT_TRUE(list.usable);
  EXPECT_EQ(list.dtype, "F32");
  EXPECT_THAT(list.shape, ElementsAre(2, 16, 16));
}

}  // namespace
}  // namespace engine
