"""Networks put together from parts of others, all of them frozen but what joins them."""
