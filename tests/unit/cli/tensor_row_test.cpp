// A tensor appears in what people get of a run because its result has a row for it: each output
// here is made of a run with a tensor that runs do not usually report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "app/page/recording_page.h"
#include "engine/model/projections.h"
#include "profiling/document/run_document.h"
#include "profiling/document/text.h"
#include "profiling/export/chrome_trace.h"
#include "tests/unit/session/sample_parts.h"
#include "tests/unit/session/sample_recording.h"

namespace app {
namespace {

using engine::StepTensor;
using testing::ContainsRegex;
using testing::HasSubstr;

class TensorRow : public testing::Test {
 protected:
  TensorRow() : run_(profiling::sample_run(2)) {
    run_.result.effective.products.bias = true;
    engine::TensorResult& bias = profiling::sample_tensor(run_.result, StepTensor::BUp);
    bias.bytes = 4321;
    bias.quantization.emplace().elements = 1536;
    bias.quantization->snr_db = 12.75;
    bias.quantization->median_block_snr_db = 31.5;
    bias.quantization->before = {.first_bin = 400, .counts = {1536}};
    bias.quantization->experts = {{.rows = 1}, {.rows = 1}, {.rows = 1}};
  }

  profiling::RecordedRun run_;
};

TEST_F(TensorRow, IsUnusual) {
  EXPECT_FALSE(engine::traits_of(StepTensor::BUp).reported);
  EXPECT_FALSE(engine::operand_of(engine::StepKind::Linear, StepTensor::BUp));
}

TEST_F(TensorRow, IsInTheSummary) {
  const std::string text = profiling::text_of(profiling::run_document(run_, "a run"));
  EXPECT_THAT(text, ContainsRegex("quantizing  b SNR 12.75 dB, 0 of 1 536 saturated"));
  // Beside it the typical element's error, with why the two differ.
  EXPECT_THAT(text,
              ContainsRegex("typical SNR +.*b 31.50 dB. Median over short blocks .* unlike "));
  EXPECT_THAT(text, ContainsRegex(
                        "\nb +bias of the [a-z ]+3 +512 +4.2 KiB +none +.* 12.75 dB +31.50 dB\n"));
}

TEST_F(TensorRow, IsOnThePage) {
  const std::string page = recording_page({.runs = {{&run_, "run"}}}, "a recording", false);
  EXPECT_THAT(page, HasSubstr("<td class=\"w\">b</td>"));
  EXPECT_THAT(page, HasSubstr(">b: magnitudes before"));
  EXPECT_THAT(page, HasSubstr("<td>3</td><td>512</td><td>4.2 KiB</td>"));
}

TEST_F(TensorRow, IsInTheTables) {
  const profiling::ScratchFolder folder;
  profiling::Session session;
  session.runs.push_back(run_);
  ASSERT_TRUE(profiling::export_csv(session, folder.file("tables")).ok());
  const auto table = [&](const std::string& name) {
    std::ifstream file(folder.file("tables/" + name));
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  EXPECT_THAT(table("tensors.csv"), HasSubstr("\n1,b-up,3,512,4321,0,"));
  EXPECT_THAT(table("operands.csv"), HasSubstr("\n1,b,1536,12.75,"));
  EXPECT_THAT(table("operand_experts.csv"), HasSubstr("\n1,b,2,1,"));
  EXPECT_THAT(table("histograms.csv"), HasSubstr("\n1,b,before,400,1536"));
}

}  // namespace
}  // namespace app
