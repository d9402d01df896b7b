// The recordings that ship with the program: everything that lists, opens or names one asks here.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace app {

struct ShippedRecording {
  std::string_view file;   // in assets/sessions
  std::string_view shows;  // one line for menus

  std::string path() const;
  constexpr bool operator==(const ShippedRecording&) const = default;
};

/// Opens at the first start; pages that need a recording offer it.
inline constexpr ShippedRecording kExampleRecording = {
    "h200_layer.session",
    "expert layers of DeepSeek-V3 and Mixtral, recorded routing, a sweep, recipes side by side"};
inline constexpr ShippedRecording kWorkspaceRecording = {
    "workspace_bug.session", "a captured step that is wrong from replay 2 on, its cause and cure"};
inline constexpr ShippedRecording kGalleryRecording = {
    "gallery.session", "the doctor's visits to every hazard of the gallery"};
inline constexpr ShippedRecording kTrainingRecording = {
    "train_step.session", "a PyTorch training step whose graph reads other tensors' memory"};

inline constexpr std::array kShippedRecordings = {kExampleRecording, kWorkspaceRecording,
                                                  kGalleryRecording, kTrainingRecording};

/// The path of a file in assets/sessions, whether or not it exists.
std::string shipped_path(std::string_view file);

}  // namespace app
