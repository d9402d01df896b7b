// JSON files that lie beside the program or are passed around: shape presets, library facts, rows
// of a version matrix, recordings of routing. Every text goes to every reader; the wrong ones
// refuse it soon.
#include <filesystem>

#include "app/doctor/library_versions.h"
#include "app/doctor/matrix.h"
#include "engine/input/presets.h"
#include "profiling/hazards/rules/diagnosis.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/routing_reading.h"

namespace fuzz {

std::vector<std::string> seeds() {
  const std::string assets = EXPERTSCOPE_SOURCE "/assets";
  app::MatrixRow row;
  row.cell.library = "/opt/libcublasLt.so.13";
  row.version = "13.6.0";
  return {content_of(assets + "/shapes/mixtral-8x7b-up.json"),
          R"({"facts": [{"id": "a", "first": "13.1", "last": "", "statement": "s",)"
          R"( "source": "x", "date": "2026-01-01"}]})",
          app::to_json_line(row) + "\n",
          "[128, 0, 256]",
          "[[4, 0, 2], [1, 1, 4]]",
          "[[[[0, 1], [1, 2]], [[2, 0]]], [[[0, 2]], [[1, 0]]]]",
          R"({"rank": 0, "logical_count": [[[3, 1]], [[0, 4]]]})"};
}

std::vector<std::string> dictionary() {
  return {"\"name\"",
          "\"description\"",
          "\"laptop\"",
          "\"num_experts\"",
          "\"tokens\"",
          "\"facts\"",
          "\"first\"",
          "\"last\"",
          "\"statement\"",
          "\"library\"",
          "\"recipe\"",
          "\"sequence\"",
          "\"logical_count\"",
          "\"routed_experts\"",
          "[[",
          "]]",
          "\"geometry\"",
          "\"workspace\"",
          "\"verdict\"",
          "\"ok\"",
          "\"both\"",
          "\"shared\"",
          "4x512x256x256",
          "13.6.0.2",
          "1.",
          "..",
          "\n",
          "18446744073709551615"};
}

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  const std::string path = fuzz::scratch_file("file.json", text);
  const fuzz::CostLimit limit(size, fuzz::kRoutingMemory);
  fuzz::read_routing(path);
  const auto presets = engine::load_presets(fuzz::scratch_folder());
  if (fuzz::accepted(presets)) {
    fuzz::require(presets.value().size() == 1, "a folder of one file holds one preset");
    engine::RunRequest request;
    request.shape = presets.value().front().shape;
    fuzz::require(engine::validate(request).ok(), "a preset can be run");
  }
  const auto facts = profiling::load_library_facts(path);
  if (fuzz::accepted(facts)) {
    for (const profiling::LibraryFact& fact : facts.value()) {
      static_cast<void>(profiling::holds_for(fact, "13.6.0"));
      static_cast<void>(profiling::evidence_of(fact));
    }
  }
  const auto rows = app::read_rows(text);
  if (fuzz::accepted(rows) && !rows.value().empty()) {
    static_cast<void>(app::matrix_table(rows.value()));
    std::string written;
    for (const app::MatrixRow& row : rows.value()) written += app::to_json_line(row) + "\n";
    const auto again = app::read_rows(written);
    fuzz::require(again.ok() && again.value() == rows.value(), "rows come back as they were",
                  written);
  }
  return 0;
}
