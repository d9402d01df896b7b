#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "profiling/hazards/rules/diagnosis.h"
#include "tests/unit/graph/hand_made_snapshot.h"
#include "tests/unit/graph/rule_checks.h"

namespace profiling {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::string file_with(const std::string& text) {
  const std::string path = testing::TempDir() + "/facts.json";
  std::ofstream(path) << text;
  return path;
}

std::string facts_refusal(const std::string& text) {
  const auto facts = load_library_facts(file_with(text));
  return facts.ok() ? "" : facts.error().message;
}

TEST(LibraryFacts, VersionsAreComparedNumberByNumber) {
  EXPECT_LT(compare_versions("13.6.2", "13.10.0"), 0);
  EXPECT_GT(compare_versions("13.10", "13.9.9"), 0);
  EXPECT_EQ(compare_versions("13.6.0.2", "13.6"), 0);
  EXPECT_TRUE(is_version("13.6.0.2"));
  for (const char* odd :
       {"", ".", "13.", "13.x", "v13", "13..6", "-1", "99999999999999999999999"}) {
    EXPECT_FALSE(is_version(odd)) << odd;
  }
}

TEST(LibraryFacts, HoldFromFirstToLast) {
  const LibraryFact fact{.first = "13.4.1", .last = "13.6.0"};
  EXPECT_TRUE(holds_for(fact, "13.4.1"));
  EXPECT_TRUE(holds_for(fact, "13.6.0.2"));
  EXPECT_FALSE(holds_for(fact, "13.6.1"));
  EXPECT_FALSE(holds_for(fact, "13.3.9"));
  EXPECT_FALSE(holds_for(fact, ""));
  EXPECT_TRUE(holds_for(LibraryFact{}, "12.0"));
}

TEST(LibraryFacts, TheShippedFileIsWhatWasMeasured) {
  const auto facts = load_library_facts(EXPERTSCOPE_ASSETS "/facts/libraries.json");
  ASSERT_TRUE(facts.ok()) << facts.error().message;
  const auto holds = [&](const std::string& id, const char* version) {
    for (const LibraryFact& fact : facts.value()) {
      if (fact.id == id && holds_for(fact, version)) return true;
    }
    return false;
  };
  for (const char* version : {"13.4.0", "13.4.1", "13.4.3", "13.5.1", "13.6.0"}) {
    EXPECT_TRUE(holds("shared-workspace-corrupt", version)) << version;
    EXPECT_FALSE(holds("shared-workspace-right", version)) << version;
  }
  for (const char* version : {"13.6.1", "13.6.2", "13.7.0", "13.8.0", "13.8.2", "13.10.0"}) {
    EXPECT_FALSE(holds("shared-workspace-corrupt", version)) << version;
    EXPECT_TRUE(holds("shared-workspace-right", version)) << version;
  }
  EXPECT_TRUE(holds("stale-descriptors", "13.6.1"));
}

TEST(LibraryFacts, RefusesWhatIsMalformedAndSaysWhere) {
  EXPECT_EQ(load_library_facts("/nowhere/facts.json").error().message,
            "library facts /nowhere/facts.json cannot be opened: No such file or directory");
  EXPECT_THAT(facts_refusal("{\n\"facts\": [\n}"), HasSubstr("line 3"));
  EXPECT_THAT(facts_refusal("[]"), HasSubstr("'facts'"));
  EXPECT_THAT(facts_refusal(R"({"facts": [7]})"), HasSubstr("fact 1 is not an object"));
  EXPECT_THAT(facts_refusal(R"({"facts": [{"id": "a", "library": "b", "first": 3}]})"),
              HasSubstr("'first'"));
  const std::string rest = R"("statement": "s", "source": "x", "date": "d"}]})";
  EXPECT_THAT(
      facts_refusal(R"({"facts": [{"id": "", "library": "b", "first": "", "last": "", )" + rest),
      HasSubstr("empty 'id'"));
  EXPECT_THAT(
      facts_refusal(R"({"facts": [{"id": "a", "library": "b", "first": "x", "last": "", )" + rest),
      HasSubstr("not a version"));
  EXPECT_THAT(
      facts_refusal(R"({"facts": [{"id": "a", "library": "b", "first": "2", "last": "1", )" + rest),
      HasSubstr("begins with 2"));
  EXPECT_THAT(facts_refusal(R"({"facts": [{"id": "a", "first": "", "last": "", )" + rest),
              HasSubstr("'library'"));
  EXPECT_THAT(facts_refusal(R"({"facts": [{"id": "a", "library": "b", "needs": "luck", "first": "",
                            "last": "", )" +
                            rest),
              HasSubstr("'needs' is none of: any graph, collectives"));
}

TEST(LibraryFacts, AreShownForTheLoadedVersionAndForWhatGraphsHave) {
  const std::vector<LibraryFact> facts = shipped_facts();
  HandMade made;
  made.kernel("scale", {});
  const auto known = [&](const char* name, const char* version) {
    made.snapshot.libraries = {{.name = name, .version = version}};
    return known_of_libraries(made.snapshot, facts);
  };
  EXPECT_THAT(known("NCCL", "2.28.9"), IsEmpty());  // no collective was captured
  made.graph().communicators = {{.name = "communicator 1"}};
  EXPECT_THAT(known("NCCL", "2.28.9"),
              ElementsAre(AllOf(StartsWith("NCCL 2.28.9 is loaded. Replays with collectives"),
                                HasSubstr("vllm #52504, 2026-"))));
  EXPECT_THAT(known("NCCL", "2.30.4"), IsEmpty());
  EXPECT_THAT(known("NCCL", "2.27.5"), IsEmpty());
  EXPECT_THAT(known("cuDNN", "2.28.9"), IsEmpty());
  EXPECT_THAT(known("FlashInfer", "0.6.18"), ElementsAre(HasSubstr("#4398")));
  EXPECT_THAT(known("FlashInfer", "0.7.0"), IsEmpty());
  EXPECT_THAT(known("CUDA driver", "12.2"), ElementsAre(HasSubstr("Loading a module")));
  EXPECT_THAT(known("CUDA driver", "12.3"), IsEmpty());
  made.node(NodeType::Conditional, ConditionalNode{.condition = Condition::If, .bodies = 1});
  EXPECT_THAT(known("CUDA driver", "12.7"), ElementsAre(HasSubstr("empty body hangs")));
  EXPECT_THAT(known("CUDA driver", "12.8"), IsEmpty());
  // Facts for rules are evidence of findings.
  EXPECT_THAT(known("cuBLASLt", "13.5.1"), IsEmpty());
}

}  // namespace
}  // namespace profiling
