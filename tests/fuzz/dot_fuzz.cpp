// Files of cudaGraphDebugDotPrint(): each gives a sound snapshot or a sentence that names its line.
#include "profiling/hazards/model/snapshot.h"
#include "profiling/hazards/snapshot/dot_import.h"
#include "profiling/session/session_file.h"
#include "tests/fuzz/fuzz_target.h"

namespace fuzz {

std::vector<std::string> seeds() {
  const std::string folder = EXPERTSCOPE_SOURCE "/tests/unit/graph/dot/";
  return {content_of(folder + "verbose.dot"), content_of(folder + "plain.dot"),
          content_of(folder + "unescaped.dot")};
}

std::vector<std::string> dictionary() {
  return {"\"",        "{",      "}",       "|",       "[",
          "];",        "->",     "\n",      "\r\n",    "<<<",
          ">>>",       "label=", "graph_1", "graph_3", "\\<\\<\\<",
          "\\>\\>\\>", "0x",     "KERNEL",  "MEMSET",  "MEMCPY",
          "{ID |",     "(",      ",",       "-1",      "CONDITIONAL",
          "subgraph ", "\xC3",   "_Z",      "ptr",     "18446744073709551615",
          "digraph ",  "Width",  "dptr",    "_ZN",     "99999999999999999999",
          "cluster_",  "//",     "strict",  "\t",      "shape=\"octagon\""};
}

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const fuzz::CostLimit limit(size);
  const auto snapshot = profiling::import_dot(text, "f");
  if (fuzz::accepted(snapshot)) {
    const engine::Status sound = profiling::check_snapshot(snapshot.value());
    fuzz::require(sound.ok(), "an imported snapshot is sound",
                  sound.ok() ? "" : sound.error().message);
    fuzz::require(!snapshot.value().graphs.empty(), "an imported snapshot has a graph");
  } else {
    fuzz::require(snapshot.error().message.starts_with("f: line "), "a refusal names the line",
                  snapshot.error().message);
    fuzz::require(snapshot.error().code == engine::ErrorCode::InvalidArgument,
                  "a broken file is an invalid argument");
  }
  // The entrance of the command line and the window, which looks at the content first.
  const auto opened = profiling::open_snapshot(fuzz::scratch_file("graph.dot", text));
  if (fuzz::accepted(opened)) {
    fuzz::require(snapshot.ok() && opened.value().size() == 1, "both entrances agree");
  }
  return 0;
}
