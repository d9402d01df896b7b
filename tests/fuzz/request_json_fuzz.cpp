// A request as JSON: of request files, request logs, tours and session headers.
#include <google/protobuf/descriptor.h>

#include "app/protocol/framing.h"
#include "app/protocol/request_json.h"
#include "tests/fuzz/fuzz_target.h"

namespace fuzz {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

void add_words(const Descriptor& type, std::vector<std::string>& words) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    words.push_back("\"" + field.name() + "\":");
    if (field.message_type() != nullptr) add_words(*field.message_type(), words);
    if (field.enum_type() == nullptr) continue;
    for (int value = 0; value < field.enum_type()->value_count(); ++value) {
      words.push_back("\"" + field.enum_type()->value(value)->name() + "\"");
    }
  }
}

}  // namespace

std::vector<std::string> seeds() {
  engine::RunRequest request;
  std::vector<std::string> texts = {"{}", app::request_to_json(request)};
  request.activations = engine::FileInput{.path = "/a/x.npy", .tensor = "x"};
  request.weights = engine::FileInput{.path = "w.safetensors", .tensor = "e.{}.w"};
  request.routing.distribution = engine::RoutingDistribution::File;
  request.routing.path = "splits.json";
  request.cublaslt_library = "/opt/libcublasLt.so";
  texts.push_back(app::request_to_json(request, true));
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
                                    "\"NaN\"",
                                    "\"-Infinity\"",
                                    "18446744073709551616",
                                    "9223372036854775807"};
  add_words(*app::wire::RunRequest::descriptor(), words);
  return words;
}

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  const fuzz::CostLimit limit(size);
  const auto request = app::request_from_json(text);
  if (!fuzz::accepted(request)) return 0;
  fuzz::require(engine::validate(request.value()).ok(), "an accepted request is valid");
  const std::string written = app::request_to_json(request.value());
  const auto again = app::request_from_json(written);
  fuzz::require(again.ok(), "what is written is read", again.ok() ? "" : again.error().message);
  fuzz::require(again.value() == request.value(), "a request comes back as it was", written);
  return 0;
}
