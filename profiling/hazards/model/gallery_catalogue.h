// The hazard gallery: small programs with one known mistake each, and a twin without it. They serve
// as lessons and as test cases for the doctor. This is the catalogue; profiling/hazards/gallery has
// the programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profiling/hazards/model/experiment.h"

namespace profiling {

struct HazardCase {
  std::string id;                  // "flag-not-reset"
  int hazard = 0;                  // number in the table in profiling/hazards/README.md
  std::string title;               // "A flag that is not reset between replays"
  std::string mistake;             // what the program does, a sentence or two
  std::string symptom;             // what the user sees
  std::string cure;                // what the healthy twin does instead
  std::string rule;                // Finding::rule that must be found
  Verdict plain = Verdict::Wrong;  // for plain replays of the faulty program
  std::string library;  // cuBLASLt versions it needs, "13.5.1.27 or 13.6.0.2"; empty = none
};

const std::vector<HazardCase>& hazard_cases();
/// Null if there is none by that name.
const HazardCase* find_hazard_case(const std::string& id);

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
