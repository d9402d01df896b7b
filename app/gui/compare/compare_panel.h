// Compare: two runs side by side, and the frontier of a sweep.
#pragma once

#include <string>

#include "app/gui/cards/card_board.h"
#include "app/gui/cards/card_layout.h"
#include "app/gui/cards/page.h"
#include "app/gui/compare/compare_model.h"
#include "app/gui/compare/frontier_view.h"
#include "app/gui/compare/side_choice.h"
#include "app/gui/plot/plot_frame.h"

namespace app {

/// The two sides by what distinguishes them: "A: BF16" and "B: FP8 block". Made when a side
/// changes, not in every frame.
class SideNames {
 public:
  struct Pair {
    std::string a;
    std::string b;
  };
  const Pair& of(const CompareSide& a, const CompareSide& b);

 private:
  profiling::RunList a_;
  profiling::RunList b_;
  Pair names_;
};

class ComparePanel : public PagePanel {
 public:
  explicit ComparePanel(const std::function<void()>& wake);
  void draw(const PanelContext& context, ImVec2 size) override;
  bool tick() override { return model_.tick(); }
  std::optional<PageSubject> subject() const override;
  std::optional<PageComparison> compared() const override;
  std::string refusal(const SessionView& view, std::string_view button) override;
  bool close_front() override { return view_ == 0 ? board_.restore() : frontier_.close_front(); }

 private:
  void draw_pickers(const PanelContext& context, const Area& area);
  bool draw_picker(const PanelContext& context, const char* id, const char* label,
                   const CompareSide& side, float width, CompareSide& chosen);
  void draw_again(const PanelContext& context, float width);
  /// Why the pair cannot be measured again; empty = it can, once nothing else is measured.
  std::string again_refusal(const SessionView& view) const;
  std::string sides_refusal() const;
  /// Why the newest measurement of the pair was refused or failed; empty = it was not.
  std::string error_of(const BatchStatus& batch) const;
  /// That in as many lines as it needs; returns their height with the gap below.
  float draw_refusal(const PanelContext& context, const Area& area) const;
  void draw_nothing(const PanelContext& context, const Area& area);
  void draw_pair(const PanelContext& context, const Area& area);
  void draw_page(const PanelContext& context, const Area& area);
  void draw_figures(const PanelContext& context, const Area& area);
  // compare_cards.cpp
  CardSpec settings_card();
  CardSpec times_card();
  void show_durations_of_row();
  CardSpec overlay_card(const PanelContext& context, const Area& area);
  const OverlaidBins& overlaid();
  std::string verdict_words() const;
  void draw_overlay_choice(const PanelContext& context, float width);
  void draw_overlay(const PanelContext& context, const Area& room);
  void draw_selected_bins(const PanelContext& context, const OverlaidBins& bins, ImVec2 at,
                          float width) const;
  // compare_experts_card.cpp
  CardSpec experts_card(const PanelContext& context);
  void draw_expert_bars(const PanelContext& context, ImVec2 size);

  SideChoice sides_;
  mutable SideNames names_;
  std::string filter_;   // of the open list of sides
  CompareSide asked_a_;  // when it was last to be measured again
  CompareSide asked_b_;
  CompareModel model_;
  FrontierView frontier_;
  CardBoard board_;
  ImVec2 room_;   // of the whole page
  int page_ = 0;  // the card shown where there is room for only one
  std::uint64_t rows_for_ = 0;
  ThemeKind theme_kind_ = ThemeKind::Dark;
  int product_ = 0;
  bool snr_ = false;  // experts: error instead of time
  Overlay overlay_;
  bool normalised_ = true;
  std::int64_t blocks_ = kDefaultBlocks;
  std::int64_t iterations_ = 20;
  plot::TableState settings_table_;
  plot::TableState times_table_;
  plot::PlotView overlay_view_;
  plot::PlotView experts_view_;
};

}  // namespace app
