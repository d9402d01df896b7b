// The hazard gallery: small programs with one known mistake each, and a twin without it. They serve
// as lessons and as test cases for the doctor. This is the catalogue; profiling/hazards/gallery has
// the programs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiling/hazards/model/experiment.h"

namespace profiling {

/// What people see first, before they know a cause: cases are looked for by it.
enum class Symptom : std::uint8_t { Hangs, Wrong, Refused, Slow };
constexpr auto enum_names(Symptom) {
  return std::to_array<std::string_view>({"hangs", "wrong", "refused", "slow"});
}

/// A symptom that the case may have, and the question that separates it from the other cases with
/// the same symptom: yes leads to this case.
struct HazardSign {
  Symptom symptom = Symptom::Wrong;
  std::string question;
};

struct HazardCase {
  std::string id;                  // "flag-not-reset"
  int hazard = 0;                  // number in the table in profiling/hazards/README.md
  std::string title;               // "A flag that is not reset between replays"
  std::string mistake;             // what the program does, a sentence or two
  std::string symptom;             // what the user sees
  std::string cure;                // what the healthy twin does instead
  std::vector<HazardSign> signs;   // at least one, the usual one first
  std::string rule;                // Finding::rule that must be found
  Verdict plain = Verdict::Wrong;  // for plain replays of the faulty program
  std::string library;  // cuBLASLt versions it needs, "13.5.1.27 or 13.6.0.2"; empty = none
};

const std::vector<HazardCase>& hazard_cases();
/// Null if there is none by that name.
const HazardCase* find_hazard_case(const std::string& id);

/// "A replay or the capture never ends", ...
std::string_view words_of(Symptom symptom);

/// A question of a symptom and the case that it leads to. Both live as long as the program.
struct SymptomLead {
  const HazardCase* hazard = nullptr;
  const std::string* question = nullptr;
  bool usual = true;  // of the case's symptoms, the one that it mostly has
};
/// The case's title, and its usual symptom where the lead is from another.
std::string title_of(const SymptomLead& lead);
/// "slow (or hangs, refused)".
std::string symptoms_of(const HazardCase& hazard);
/// In the order of the catalogue. A case that can look different is led to from several symptoms.
std::vector<SymptomLead> leads_of(Symptom symptom);

/// To the gallery's Snapshot::subject, and back.
struct GallerySubject {
  std::string id;
  bool healthy = false;
  bool operator==(const GallerySubject&) const = default;
};
std::string subject_title(const GallerySubject& subject);
/// Nothing for a subject that is not in the gallery.
std::optional<GallerySubject> gallery_subject(const std::string& title);

}  // namespace profiling
