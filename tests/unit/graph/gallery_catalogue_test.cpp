// Window, command line and the doctor's tests are built from the catalogue: every case is complete,
// and its texts can be shown unchanged.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "profiling/hazards/model/gallery_catalogue.h"

namespace profiling {
namespace {

bool is_stable_name(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char letter) {
    return (letter >= 'a' && letter <= 'z') || letter == '-';
  });
}

bool is_sentence(const std::string& text) {
  return text.size() > 10 && text.back() == '.' && text.find("  ") == std::string::npos;
}

TEST(GalleryCatalogue, EveryCaseIsComplete) {
  std::set<std::string> ids;
  for (const HazardCase& hazard : hazard_cases()) {
    SCOPED_TRACE(hazard.id);
    EXPECT_TRUE(is_stable_name(hazard.id));
    EXPECT_TRUE(ids.insert(hazard.id).second) << "listed twice";
    EXPECT_TRUE(is_stable_name(hazard.rule));
    EXPECT_GE(hazard.hazard, 1);
    EXPECT_LE(hazard.hazard, 23);
    EXPECT_FALSE(hazard.title.empty());
    EXPECT_LE(hazard.title.size(), 72U);
    EXPECT_NE(hazard.title.back(), '.');
    EXPECT_TRUE(is_sentence(hazard.mistake)) << hazard.mistake;
    EXPECT_TRUE(is_sentence(hazard.symptom)) << hazard.symptom;
    EXPECT_TRUE(is_sentence(hazard.cure)) << hazard.cure;
    EXPECT_NE(hazard.plain, Verdict::NotRun);
    EXPECT_NE(hazard.plain, Verdict::Crashed) << "a lesson must not cost the device";
  }
  EXPECT_EQ(ids.size(), 20U);
}

TEST(GalleryCatalogue, FindsCasesByName) {
  for (const HazardCase& hazard : hazard_cases()) {
    EXPECT_EQ(find_hazard_case(hazard.id), &hazard);
  }
  EXPECT_EQ(find_hazard_case("no-such-case"), nullptr);
  EXPECT_EQ(find_hazard_case(""), nullptr);
}

TEST(GalleryCatalogue, EveryCaseIsLedToByAQuestionOfItsOwn) {
  std::set<std::string> questions;
  for (const HazardCase& hazard : hazard_cases()) {
    SCOPED_TRACE(hazard.id);
    ASSERT_FALSE(hazard.signs.empty());
    std::set<Symptom> symptoms;
    for (const HazardSign& sign : hazard.signs) {
      EXPECT_TRUE(symptoms.insert(sign.symptom).second) << "two questions of one symptom";
      EXPECT_TRUE(questions.insert(sign.question).second) << "asked for another case too";
      EXPECT_EQ(sign.question.back(), '?') << sign.question;
      EXPECT_LE(sign.question.size(), 120U) << "a short question";
    }
    // What plain replays do is what people see first.
    const std::map<Verdict, Symptom> seen = {{Verdict::Hung, Symptom::Hangs},
                                             {Verdict::Wrong, Symptom::Wrong},
                                             {Verdict::Refused, Symptom::Refused}};
    if (seen.contains(hazard.plain)) {
      EXPECT_EQ(hazard.signs.front().symptom, seen.at(hazard.plain));
    }
  }
}

TEST(GalleryCatalogue, EverySymptomLeadsToItsCases) {
  std::size_t leads = 0;
  std::set<std::string> reached;
  for (std::size_t i = 0; i < enum_names(Symptom{}).size(); ++i) {
    const auto symptom = static_cast<Symptom>(i);
    EXPECT_FALSE(words_of(symptom).empty());
    EXPECT_FALSE(leads_of(symptom).empty()) << enum_names(symptom)[i];
    for (const SymptomLead& lead : leads_of(symptom)) {
      ++leads;
      reached.insert(lead.hazard->id);
      EXPECT_TRUE(std::ranges::any_of(lead.hazard->signs, [&](const HazardSign& sign) {
        return sign.symptom == symptom && &sign.question == lead.question;
      }));
    }
  }
  EXPECT_EQ(reached.size(), hazard_cases().size());
  const HazardCase& lazy = *find_hazard_case("lazy-load-in-capture");
  EXPECT_EQ(symptoms_of(lazy), "slow (or hangs, refused)");
  for (const SymptomLead& lead : leads_of(Symptom::Hangs)) {
    EXPECT_EQ(title_of(lead) == lead.hazard->title, lead.hazard != &lazy) << title_of(lead);
  }
  std::size_t signs = 0;
  for (const HazardCase& hazard : hazard_cases()) signs += hazard.signs.size();
  EXPECT_EQ(leads, signs);
}

TEST(GalleryCatalogue, OnlyTheSharedWorkspaceNeedsALibrary) {
  for (const HazardCase& hazard : hazard_cases()) {
    EXPECT_EQ(hazard.library.empty(), hazard.id != "shared-workspace") << hazard.id;
  }
}

TEST(GalleryCatalogue, ASubjectsTitleLeadsBackToItsCase) {
  for (const HazardCase& hazard : hazard_cases()) {
    for (const bool healthy : {false, true}) {
      const GallerySubject subject{.id = hazard.id, .healthy = healthy};
      EXPECT_EQ(gallery_subject(subject_title(subject)), subject);
    }
  }
  EXPECT_EQ(gallery_subject("grouped linear step, 4 experts, 512 rows, n 256, k 256, 1 layer"),
            std::nullopt);
  EXPECT_EQ(gallery_subject(""), std::nullopt);
}

}  // namespace
}  // namespace profiling
