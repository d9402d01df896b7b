// A request as JSON: of request files, request logs, tours and session headers.
#include "engine/input/value_json.h"
#include "engine/model/run_request.h"
#include "tests/fuzz/fuzz_target.h"

namespace fuzz {
namespace {

void add_words(const engine::Type& type, std::vector<std::string>& words) {
  for (const engine::EnumName& entry : type.names) {
    words.push_back("\"" + std::string(entry.name) + "\"");
  }
  for (const engine::Field& field : type.fields) {
    words.push_back("\"" + std::string(field.name) + "\":");
    add_words(*field.type, words);
  }
  for (std::size_t i = 0; i < type.choice.types.size(); ++i) {
    if (type.choice.types[i] == nullptr) continue;
    words.push_back("\"" + std::string(type.choice.names[i]) + "\":");
    add_words(*type.choice.types[i], words);
  }
}

}  // namespace

std::vector<std::string> seeds() {
  engine::RunRequest request;
  std::vector<std::string> texts = {"{}", engine::to_json_text(request)};
  request.activations = engine::FileInput{.path = "/a/x.npy", .tensor = "x"};
  request.weights = engine::FileInput{.path = "w.safetensors", .tensor = "e.{}.w"};
  request.routing.distribution = engine::RoutingDistribution::File;
  request.routing.path = "splits.json";
  request.cublaslt_library = "/opt/libcublasLt.so";
  texts.push_back(engine::to_json_text(request, true));
  return texts;
}

std::vector<std::string> dictionary() {
  std::vector<std::string> words = {"{",
                                    "}",
                                    "[",
                                    "]",
                                    ":",
                                    ",",
                                    "null",
                                    "true",
                                    "\\u0000",
                                    "\\ud800",
                                    "1e308",
                                    "-0",
                                    "\"nan\"",
                                    "\"-inf\"",
                                    "18446744073709551616",
                                    "9223372036854775807"};
  add_words(engine::kType<engine::RunRequest>, words);
  return words;
}

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  const fuzz::CostLimit limit(size);
  const auto request = engine::request_from_json(text);
  if (!fuzz::accepted(request)) return 0;
  fuzz::require(engine::validate(request.value()).ok(), "an accepted request is valid");
  const std::string written = engine::to_json_text(request.value());
  const auto again = engine::request_from_json(written);
  fuzz::require(again.ok(), "what is written is read", again.ok() ? "" : again.error().message);
  fuzz::require(again.value() == request.value(), "a request comes back as it was", written);
  return 0;
}
