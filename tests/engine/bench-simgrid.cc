/*
 * The second yardstick of the flows benchmark, where SimGrid is installed: the same links and flows
 * in SimGrid's fluid model, pure max-min (no TCP factors). Prints its seconds and how far the
 * finish times are from those that shardsim wrote.
 * Usage: bench-simgrid LINKS.csv FLOWS.csv FINISH.csv: bandwidths in B/s, FINISH as
 * `flow,finish_s`.
 */
#include <simgrid/s4u.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

static std::vector<std::vector<std::string>>
read_table (const char *file)
{
  std::vector<std::vector<std::string>> rows;
  std::ifstream                         in (file);
  std::string                           line;

  std::getline (in, line); /* the header */
  while (std::getline (in, line))
    {
      std::vector<std::string> cells;
      std::istringstream       parts (line);

      for (std::string cell; std::getline (parts, cell, ',');)
        cells.push_back (cell);
      if (!cells.empty ())
        rows.push_back (cells);
    }
  return rows;
}

int
main (int argc, char **argv)
{
  sg4::Engine engine (&argc, argv);

  if (argc != 4)
    {
      fprintf (stderr, "usage: bench-simgrid LINKS.csv FLOWS.csv FINISH.csv\n");
      return 2;
    }
  sg4::Engine::set_config ("network/model:CM02");
  sg4::Engine::set_config ("network/crosstraffic:0");
  sg4::Engine::set_config ("network/TCP-gamma:1e30");
  sg4::Engine::set_config ("network/latency-factor:1");
  sg4::Engine::set_config ("network/bandwidth-factor:1");

  auto                                  *zone = sg4::create_full_zone ("all");
  std::map<std::string, sg4::Link *>     links;
  std::map<std::string, double>          finish;
  std::vector<double>                    found;
  const auto                             flows = read_table (argv[2]);

  for (const auto &row : read_table (argv[1]))
    links[row[0]] = zone->create_link (row[0], std::stod (row[1]))->set_latency (0)->seal ();
  for (const auto &row : read_table (argv[3]))
    finish[row[0]] = std::stod (row[1]);
  found.resize (flows.size ());
  for (std::size_t i = 0; i < flows.size (); i++)
    {
      auto *from = zone->create_host ("from" + std::to_string (i), 1e9)->seal ();
      auto *to = zone->create_host ("to" + std::to_string (i), 1e9)->seal ();
      std::vector<sg4::LinkInRoute> route;
      std::istringstream            names (flows[i][1]);
      const double                  bytes = std::stod (flows[i][2]);
      const double                  start = std::stod (flows[i][3]);

      for (std::string name; names >> name;)
        route.emplace_back (links.at (name));
      zone->add_route (from->get_netpoint (), to->get_netpoint (), nullptr, nullptr, route, false);
      auto send = [from, to, bytes, start, &found, i] () {
        if (start > 0)
          sg4::this_actor::sleep_until (start);
        sg4::Comm::sendto (from, to, static_cast<uint64_t> (bytes));
        found[i] = sg4::Engine::get_clock ();
      };
      sg4::Actor::create ("flow" + std::to_string (i), from, send);
    }
  zone->seal ();

  const auto begin = std::chrono::steady_clock::now ();
  double     worst = 0;

  engine.run ();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now () - begin;
  for (std::size_t i = 0; i < flows.size (); i++)
    worst = std::fmax (worst, std::fabs (found[i] / finish.at (flows[i][0]) - 1));
  printf ("SimGrid %zu flows: %.3f s, largest relative difference %.2g\n", flows.size (),
          seconds.count (), worst);
  return worst < 1e-6 ? 0 : 1;
}
