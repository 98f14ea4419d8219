#include "vocabulary/place.h"

static const char *const place_names[PLACE_N] = {
  [PLACE_HBM] = "hbm",
  [PLACE_PINNED] = "pinned",
  [PLACE_PAGEABLE] = "pageable",
  [PLACE_NVME] = "nvme",
};

static const char *const place_titles[PLACE_N] = {
  [PLACE_HBM] = "GPU memory",
  [PLACE_PINNED] = "pinned host memory",
  [PLACE_PAGEABLE] = "pageable host memory",
  [PLACE_NVME] = "NVMe drives",
};

static const char *const move_names[PLACE_N][PLACE_N] = {
  { "hbm to hbm", "hbm to pinned", "hbm to pageable", "hbm to nvme" },
  { "pinned to hbm", "pinned to pinned", "pinned to pageable", "pinned to nvme" },
  { "pageable to hbm", "pageable to pinned", "pageable to pageable", "pageable to nvme" },
  { "nvme to hbm", "nvme to pinned", "nvme to pageable", "nvme to nvme" },
};

const char *
place_name (Place place)
{
  g_assert (place < PLACE_N);
  return place_names[place];
}

const char *
place_title (Place place)
{
  g_assert (place < PLACE_N);
  return place_titles[place];
}

gboolean
place_is_host (Place place)
{
  return place == PLACE_PINNED || place == PLACE_PAGEABLE;
}

const char *
move_kind_name (guint kind)
{
  g_assert (kind < MOVE_N);
  return move_names[move_from (kind)][move_to (kind)];
}

gboolean
move_blocks_host (guint kind)
{
  return move_from (kind) == PLACE_PAGEABLE || move_to (kind) == PLACE_PAGEABLE;
}
