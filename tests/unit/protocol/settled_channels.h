// Random statistics of channels that satisfy the type's own rules.
#pragma once

#include "engine/model/channel_statistics.h"

namespace app::testing {

inline void settle_channels(engine::ChannelStatistics& channels) {
  channels.signal = 5.5;
  channels.noise = 0.25;
  for (engine::ChannelProfile* axis : {&channels.columns, &channels.rows}) {
    axis->channels = 1000;
    axis->outliers = 7;
    axis->median_amax = 1.5;
    axis->amax = {2.0F, 0.0F};
    axis->snr_db.resize(2);
    for (auto* cells : {&axis->saturated_share, &axis->underflowed_share, &axis->lost_share}) {
      cells->assign(2, 0.25F);
    }
    for (auto* list : {&axis->largest, &axis->noisiest, &axis->lowest_snr}) {
      for (engine::Channel& one : *list) {
        one.index %= 1000;
        one.place %= 1000;
      }
    }
  }
}

}  // namespace app::testing
